from .programs import rerolled as rerolled
