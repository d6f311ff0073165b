"""From records to what follows from them: costs, comparisons, retraces, an answer from decisions. Boots nothing."""
