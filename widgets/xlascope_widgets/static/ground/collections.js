// @ts-check
/** Maps of lists. */

/** Add to the list that a map has for a key. @template K,V @param {Map<K, V[]>} map @param {K} key @param {V} value */
export function append(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
