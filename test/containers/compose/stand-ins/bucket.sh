#!/bin/sh
# In place of an S3-compatible server: that of the cluster's tests, from the checkout, with its objects in files.
set -eu
exec node /checkout/test/containers/compose/bucket-main.ts
