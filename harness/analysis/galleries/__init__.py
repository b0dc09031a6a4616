"""The gallery effect: does the result hang on which images are enrolled (`hate cmc --galleries`)."""
