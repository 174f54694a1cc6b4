#!/bin/sh
# As the image of Valkey: the folder of the data belongs to its user, as whom it runs.
set -eu
find . ! -user valkey -exec chown valkey '{}' +
exec setpriv --reuid=valkey --regid=valkey --clear-groups -- "$@"
