"""What a run notes beside its figures: samples of validations, its status, its memory."""
