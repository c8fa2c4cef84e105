"""What a result says about itself: figures, judgement, a page."""
