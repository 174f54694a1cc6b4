/**
 * The chapters of the API document, in the order in which a reader meets them.
 */
export const TAGS: Readonly<Record<string, string>> = {
  Tenants: "Who uses the gateway: weights, quotas, budgets, access windows, policies.",
  "API keys": "What a tenant's clients authenticate with. The secret is shown once, when the key is created.",
  Budgets: "What has been used of a term budget.",
  Models: "What clients may ask for, and the upstream behind each name.",
  "Model endpoints": "Several upstreams behind one model: failover, shares, conversation affinity.",
  "Model health": "Checks of the upstreams, and what they found.",
  Fairshare: "Groups of tenants and their shares when the gateway is saturated.",
  Load: "Capacity, the schedulers and what they are doing now.",
  "MCP servers": "Tool servers that clients reach through the gateway.",
  Usage: "What was used and what it cost.",
  Settings: "Settings of the whole gateway; live, no restart.",
  Provisioning: "Models that the gateway starts and keeps running on a batch scheduler.",
  Backup: "The whole configuration as one file.",
  Audit: "Who changed what.",
  Operations: "Repairing what is derived from the configuration.",
  Gateway: "The service itself. These need no token.",
};
