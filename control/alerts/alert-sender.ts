/**
 * Sends alerts on the configured channels (specification "Events", decisions §35): every one is a line of the log, and a
 * message unless it repeats an issue within its cooldown. A channel that fails twice is given up for this alert: later
 * alerts matter more than one that nobody takes. Settings are read for each, so that a change is in force at once.
 */
import type { Logger } from "../log.ts";
import type { AlertChannels } from "../services/settings/alert-channels.ts";
import type { AlertSink, RaisedAlert } from "./alert-sink.ts";
import type { Cooldown } from "./cooldown.ts";

const DETAIL_MAX = 500;

export interface AlertSenderOptions {
  /** Gets every alert first. */
  readonly log: AlertSink;
  readonly channels: () => Promise<AlertChannels>;
  readonly cooldown: Cooldown;
  readonly logger: Logger;
}

export class AlertSender implements AlertSink {
  readonly #options: AlertSenderOptions;

  constructor(options: AlertSenderOptions) {
    this.#options = options;
  }

  /** Rejects when the settings cannot be read: the alert is handed over again. */
  async take(alert: RaisedAlert): Promise<void> {
    const { log, channels: read, cooldown, logger } = this.#options;
    const { channels, minIntervalSecs } = await read();
    await log.take(alert);
    if (channels.length === 0) return;
    const entered = await cooldown.enter(alert.issueKey, alert.id, minIntervalSecs);
    if (entered === null) return;
    const { issueKey, title } = alert;
    const message = { issueKey, title, detail: withRepeats(alert.detail, entered.suppressed) };
    const results = await Promise.all(channels.map(async (send) => await send(message)));
    await cooldown.told(issueKey, minIntervalSecs);
    for (const { channel, ok, detail } of results) {
      if (!ok) logger.warn({ event: "alert_not_sent", channel, key: issueKey, reason: detail });
    }
  }
}

function withRepeats(detail: string, suppressed: number): string {
  if (suppressed === 0) return detail;
  const ending = ` (${suppressed} repeats suppressed)`;
  return `${detail.slice(0, DETAIL_MAX - ending.length)}${ending}`;
}
