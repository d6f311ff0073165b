"""From what XLA writes (HLO text, dumps and logs, plans of memory, profiles) to records. Boots nothing."""
