"""What hostile names, texts and files may not do."""
