/** The channels of the alert settings, and which alerts each of them takes (docs/rules/alerts.md#channels). Pure. */
import { SEVERITIES } from "../../shared/catalogues/alerts.ts";
import type { AlertsValue, ChannelValue } from "../../shared/schema/settings/alerts.ts";
import { alertOf, severityOf } from "./alert-kinds.ts";

/** The channels whose addresses are fields of the alert settings. */
const FIRST_CHANNELS = ["slack", "email"] as const;
type FirstChannel = (typeof FIRST_CHANNELS)[number];

const FIRST_NAMES: Readonly<Record<FirstChannel, string>> = { slack: "Chat", email: "Email" };
/** What has ended, by what says so: who gets the one gets the other. */
const ENDED: Readonly<Record<string, string>> = {
  model_health_recovery: "model_health_down",
  slurm_reconcile_recovered: "slurm_reconcile_held",
};

/** A channel with its id. */
export interface Channel extends ChannelValue {
  readonly id: string;
}

export const isFirst = (id: string): id is FirstChannel => FIRST_CHANNELS.some((first) => first === id);

/** Every channel, the first ones before the others. */
export function channelsOf({ slack_webhook_url, email, channels }: AlertsValue): readonly Channel[] {
  return [
    ...(slack_webhook_url === null ? [] : [{ ...ruleOfFirst(channels, "slack"), url: slack_webhook_url }]),
    ...(email === null ? [] : [{ ...ruleOfFirst(channels, "email"), recipients: email.recipients }]),
    ...Object.entries(channels).flatMap(([id, channel]) => (isFirst(id) ? [] : [{ ...channel, id }])),
  ];
}

function ruleOfFirst(channels: AlertsValue["channels"], id: FirstChannel): Channel {
  const rule = channels[id] ?? { min_severity: "info", kinds: [], min_interval_secs: null, enabled: true };
  return { name: FIRST_NAMES[id], ...rule, id, type: id, url: null, recipients: [] };
}

/** True if the channel takes the issue. What ends an alert goes where the alert goes. */
export function takesIssue(
  { min_severity, kinds }: Pick<Channel, "min_severity" | "kinds">,
  issueKey: string,
): boolean {
  const takes = (key: string): boolean => {
    const kind = alertOf(key);
    if (kinds.length > 0 && (kind === undefined || !kinds.includes(kind))) return false;
    return SEVERITIES.indexOf(severityOf(key)) >= SEVERITIES.indexOf(min_severity);
  };
  const ended = ENDED[alertOf(issueKey) ?? ""];
  return takes(issueKey) || (ended !== undefined && takes(ended));
}
