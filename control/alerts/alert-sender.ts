/**
 * Sends alerts on the configured channels (docs/rules/alerts.md#channels). Every alert is written to the log at once. A
 * separate job puts it into a message as soon as the cooldown of its issue is over
 * (docs/rules/alerts.md#cooldown-and-repeats), so that taking alerts never waits for a channel. A message that
 * could not be sent is tried again later. Settings are read for each message, so that a change is in force at once.
 */
import type { Database, Transaction } from "../db/connect.ts";
import { type AlertSink, logAlert, type RaisedAlert } from "../kernel/alert-sink.ts";
import type { Logger } from "../kernel/log.ts";
import { noteDelivery } from "./alert-deliveries.ts";
import { AlertIssues, type DueIssue, lockAlerts } from "./alert-issues.ts";
import { AlertLog } from "./alert-log.ts";
import { acknowledgedIssues, forgetMarks } from "./alert-marks.ts";
import { ChannelTries } from "./channel-tries.ts";
import type { AlertChannel, AlertChannels } from "./configured-channels.ts";
import type { FailureRates } from "./failure-rates.ts";
import { gathered } from "./issues-of-keys.ts";

/** What {@link AlertSender} needs. */
interface AlertSenderOptions {
  readonly db: Database;
  readonly channels: () => Promise<AlertChannels>;
  readonly rates: FailureRates;
  /** Where people open the console; null: it is not known. */
  readonly consoleUrl: string | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
}

export class AlertSender implements AlertSink {
  readonly #options: AlertSenderOptions;
  readonly #issues: AlertIssues;
  readonly #log: AlertLog;
  /** Of each channel under one revision of the settings: who changes a setting wants to see it at work. */
  readonly #tries = new Map<string, { readonly rev: number; readonly tries: ChannelTries }>();

  constructor(options: AlertSenderOptions) {
    this.#options = options;
    this.#issues = new AlertIssues(options.db);
    this.#log = new AlertLog(options.db);
  }

  /**
   * Rejects when the settings or the database do not answer. Without a channel an alert is only written to the log and kept
   * for GET /alerts.
   */
  async take(alerts: readonly RaisedAlert[], also?: (tx: Transaction) => Promise<void>): Promise<void> {
    const { db, channels: read, rates, now } = this.#options;
    const settings = await read();
    await db.transaction(async (tx) => {
      await also?.(tx);
      await lockAlerts(tx);
      const raised: RaisedAlert[] = [];
      for (const alert of alerts) raised.push(...listed(await rates.raisedBy(tx, alert, now())));
      await this.#raise(tx, raised, settings);
    });
  }

  /**
   * Raises the failures that were a large part of a model's requests; returns how many alerts. Rejects when the settings, the
   * database or the requests of a model are not known.
   */
  async raiseByShare(): Promise<{ readonly raised: number }> {
    const { db, channels: read, rates, now } = this.#options;
    const failing = await rates.failingMinutes(now());
    if (failing.length === 0) return { raised: 0 };
    const settings = await read();
    return await db.transaction(async (tx) => {
      await lockAlerts(tx);
      const raised: RaisedAlert[] = [];
      for (const minute of failing) raised.push(...listed(await rates.raisedIn(tx, minute)));
      await this.#raise(tx, raised, settings);
      return { raised: raised.length };
    });
  }

  /**
   * Sends every message that is due; returns how many, under a name that the log shows (shared/text/redaction.ts hides
   * `messages`). A channel that is slow or fails delays no other. Rejects when the settings or the database do not answer.
   */
  async sendDue(): Promise<{ readonly sent: number }> {
    const { channels } = await this.#options.channels();
    const ids = channels.map(({ id }) => id);
    await this.#issues.dismissOthers(ids, this.#options.now());
    const waiting = await this.#issues.waitingChannels();
    for (const id of this.#tries.keys()) if (!ids.includes(id)) this.#tries.delete(id);
    const due = ids.filter((id) => waiting.has(id));
    const sent = await Promise.all(due.map(async (id) => await this.#sendOn(id)));
    return { sent: sent.reduce((sum, count) => sum + count, 0) };
  }

  /** Removes issues that were last reported long ago, and what was raised or said of an issue more than 30 days ago. */
  async prune(): Promise<{ readonly removed: number; readonly forgotten: number }> {
    const nowMs = this.#options.now();
    await forgetMarks(this.#options.db, nowMs);
    return { ...(await this.#issues.prune(nowMs)), forgotten: await this.#log.prune(nowMs) };
  }

  /** What is acknowledged is kept for people to read, and in no message. */
  async #raise(tx: Transaction, raised: readonly RaisedAlert[], settings: AlertChannels): Promise<void> {
    const { channels, minIntervalSecs } = settings;
    const nowMs = this.#options.now();
    const alerts = await gathered(tx, raised, nowMs);
    await this.#log.record(tx, alerts, minIntervalSecs * 1000, nowMs);
    for (const alert of raised) logAlert(this.#options.logger, alert);
    if (channels.length === 0) return;
    const acknowledged = await acknowledgedIssues(tx, alerts);
    for (const alert of alerts) {
      if (acknowledged.has(alert.issueKey)) continue;
      const taking = channels.filter(({ takes }) => takes(alert.issueKey));
      await this.#issues.record(
        tx,
        alert,
        taking.map(({ id }) => id),
      );
    }
  }

  async #sendOn(id: string): Promise<number> {
    const { channels: read, now } = this.#options;
    for (let sent = 0; ; ) {
      const { channels, rev } = await read();
      const channel = channels.find((one) => one.id === id);
      const tries = this.#triesOn(id, rev);
      if (channel === undefined || tries.isPaused(now())) return sent;
      const due = await this.#issues.claim(id, now(), channel.minIntervalSecs * 1000, tries);
      if (due === null) return sent;
      if (!channel.takes(due.issueKey)) await this.#issues.forget(due);
      else if (await this.#report(due, channel, tries)) sent += 1;
    }
  }

  #triesOn(id: string, rev: number): ChannelTries {
    const known = this.#tries.get(id);
    if (known?.rev === rev) return known.tries;
    const tries = new ChannelTries();
    this.#tries.set(id, { rev, tries });
    return tries;
  }

  /** Sends a message; returns whether it was sent. */
  async #report(due: DueIssue, channel: AlertChannel, tries: ChannelTries): Promise<boolean> {
    const { db, logger, now, consoleUrl } = this.#options;
    const { issueKey, title, detail, count } = due;
    const result = await channel.send({ issueKey, title, detail, repeats: count - 1, consoleUrl });
    const isAgain = result.again !== undefined && tries.failed(issueKey, result.again.afterMs, now());
    if (isAgain) await this.#issues.release(due);
    else {
      if (result.again === undefined) tries.ended(issueKey);
      await this.#issues.markReported(due, now());
    }
    await noteDelivery(db, result, now(), isAgain);
    if (!result.ok)
      logger.warn({
        event: "alert_not_sent",
        channel: channel.id,
        name: result.name,
        key: issueKey,
        reason: result.detail,
        tried_again: isAgain,
      });
    return result.ok;
  }
}

const listed = (alert: RaisedAlert | null): readonly RaisedAlert[] => (alert === null ? [] : [alert]);
