/**
 * The tenant as which the console's assistant asks its model (docs/rules/assistant.md#model). It belongs to a gateway, not to
 * its configuration: every gateway makes its own, and backups leave it out.
 */

export const ASSISTANT_TENANT_ID = "00000000-0000-4000-8000-000000000a55";
export const ASSISTANT_TENANT_NAME = "gateway-assistant";
