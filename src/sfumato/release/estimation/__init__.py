"""What the receiver of released answers can say of the people: shares with error bars, plans, posteriors."""
