"""Pictures, plots and moving pictures, drawn without a window."""
