"""Parts of confusion matrices: truths and answers, rates of classes, JSON."""
