// @ts-check
/** Maps of lists. */

/** Add to the list that a map has for a key. @template K,V @param {Map<K, V[]>} map @param {K} key @param {V} value */
export function append(map, key, value) {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
