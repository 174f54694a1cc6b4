"""Five calls with the client that openapi-python-client has generated. Prints what they showed, as JSON."""

import json
import os
from datetime import datetime, timezone

from gateway_api import AuthenticatedClient
from gateway_api.api.api_keys import post_tenants_id_keys
from gateway_api.api.tenants import delete_tenants_id, get_tenants_id, patch_tenants_id, post_tenants
from gateway_api.models import CreateApiKey, CreateTenant, PatchTenant

client = AuthenticatedClient(base_url=os.environ["GATEWAY_URL"], token=os.environ["GATEWAY_TOKEN"])
tenant = post_tenants.sync(client=client, body=CreateTenant(name="from-python", budget_cost_usd=0.05))
key = post_tenants_id_keys.sync(tenant.id, client=client, body=CreateApiKey(name="first"))
patch = PatchTenant(
    weight=70,
    active_from=datetime(1, 1, 1, tzinfo=timezone.utc),
    active_until=datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=timezone.utc),
)
patch_tenants_id.sync(tenant.id, client=client, body=patch)
read = get_tenants_id.sync(tenant.id, client=client)
deleted = delete_tenants_id.sync_detailed(tenant.id, client=client)
shown = {
    "secret": bool(key.secret),
    "weight": read.weight,
    "budget_cost_usd": read.budget_cost_usd,
    "active_years": [read.active_from.year, read.active_until.year],
    "is_made_now": read.created_at.year > 2024,
    "is_endless": key.key.expires_at is None,
    "deleted": int(deleted.status_code),
}
print(json.dumps(shown))
