UPDATE tenants SET guardrails_policy = '{"scan_assistant": false}'::jsonb || guardrails_policy WHERE guardrails_policy IS NOT NULL;
