"""The world: bodies, figures and ground that move, touch, and change their structure while they do."""
