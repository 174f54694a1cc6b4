/**
 * The channels of alerts, as admins list, create, change and delete them: each with its rule, and with how its last message
 * went (docs/rules/alerts.md#channels). All are part of the alert settings, whose revision is theirs.
 */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import { changeChannelSchema, createChannelSchema, type ShownChannel } from "../../shared/schema/alert-channel.ts";
import type { AlertsValue } from "../../shared/schema/settings/alerts.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { dropUndefined, fieldError } from "../kernel/parse.ts";
import { sealNewSecret } from "../kernel/seal-secret.ts";
import { alertsSetting } from "../kernel/settings/definitions.ts";
import { readSetting, settingVerbs } from "../kernel/settings/setting.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { type Deliveries, deliveriesOf, forgetDeliveries } from "./alert-deliveries.ts";
import { type Channel, channelsOf, isFirst } from "./channel-rules.ts";

const NOTHING_SENT: Deliveries = { last_delivery: null, sent: 0, failed: 0 };

/** Every channel, the first ones before the others. Throws 503. */
export async function listChannels(ctx: VerbContext): Promise<readonly ShownChannel[]> {
  const { value, rev } = await readSetting(ctx, alertsSetting);
  const deliveries = await withDatabaseErrors(async () => await deliveriesOf(ctx.db));
  return channelsOf(value).map((channel) => ({ ...shown(channel, deliveries.get(channel.id)), rev }));
}

/** Throws 404, 503. */
export async function getChannel(ctx: VerbContext, id: string): Promise<ShownChannel> {
  const found = (await listChannels(ctx)).find((channel) => channel.id === id);
  if (found === undefined) throw new GatewayError("not_found");
  return found;
}

/** Throws 400, also `address_blocked`. */
export async function createChannel(ctx: VerbContext, input: unknown): Promise<Written<ShownChannel>> {
  const suffix = randomUUID().slice(0, 8);
  let id = suffix;
  const verbs = settingVerbs({
    setting: { ...alertsSetting, action: "create_alert_channel" },
    body: createChannelSchema,
    check: checkUrl,
    merge: async (_ctx, before, body) => {
      const { name, type, url, recipients, ...rule } = body;
      id = idOf(name, suffix);
      refuseAddress(type, body, before);
      if (type === "email" ? recipients == null : (url ?? "") === "")
        throw fieldError(type === "email" ? "recipients" : "url", `is required for a channel of the type ${type}`);
      if (channelsOf(before).length >= LIMITS.alertChannels)
        throw fieldError("name", `cannot be added: there are ${LIMITS.alertChannels} channels already`);
      refuseTaken(before, name, id);
      const sealed = await sealNewSecret(ctx, url, null);
      return {
        ...before,
        channels: { ...before.channels, [id]: { name, type, url: sealed, recipients: recipients ?? [], ...rule } },
      };
    },
    show: async (shownTo, stored) => await shownById(id)(shownTo, stored),
  });
  return await verbs.save(ctx, input);
}

/** Throws 400, also `address_blocked`; 404, 412. */
export async function changeChannel(ctx: VerbContext, id: string, input: unknown): Promise<Written<ShownChannel>> {
  const verbs = settingVerbs({
    setting: { ...alertsSetting, action: "change_alert_channel" },
    body: changeChannelSchema,
    check: checkUrl,
    merge: async (_ctx, before, body) => {
      const channel = channelIn(before, id);
      refuseAddress(channel.type, body, before);
      refuseTaken(before, body.name ?? channel.name, id);
      const { id: _, ...kept } = channel;
      const { url, recipients, ...fields } = dropUndefined(body);
      if (recipients === null && channel.type === "email")
        throw fieldError("recipients", "must name at least one recipient");
      return withChannel(before, id, {
        ...kept,
        ...fields,
        recipients: recipients ?? channel.recipients,
        url: await sealNewSecret(ctx, url || null, channel.url),
      });
    },
    show: shownById(id),
  });
  return await verbs.save(ctx, input);
}

/** Throws 400 for the first mail channel while another one needs its server; 404, 412. */
export async function deleteChannel(ctx: VerbContext, id: string): Promise<Written<null>> {
  const verbs = settingVerbs({
    setting: { ...alertsSetting, action: "delete_alert_channel" },
    body: changeChannelSchema,
    merge: (_ctx, before) => {
      channelIn(before, id);
      const { [id]: _, ...channels } = before.channels;
      if (id === "email" && Object.values(channels).some(({ type }) => type === "email"))
        throw fieldError(
          "id",
          "is the channel of the mail server, which other mail channels need: turn it off instead",
        );
      return {
        ...before,
        channels,
        slack_webhook_url: id === "slack" ? null : before.slack_webhook_url,
        email: id === "email" ? null : before.email,
      };
    },
    show: (_ctx, { value }) => ({ id, channels: channelsOf(value).length }),
  });
  const { sync } = await verbs.save(ctx, {});
  await withDatabaseErrors(async () => await forgetDeliveries(ctx.db, id));
  return { record: null, sync };
}

/** The id of a new channel: people meet it in the audit log, so that it begins like its name. */
function idOf(name: string, suffix: string): string {
  const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return `${words.replace(/^-|-$/g, "").slice(0, 40)}-${suffix}`.replace(/^-/, "");
}

type Body = Partial<z.output<typeof createChannelSchema>> | z.output<typeof changeChannelSchema>;

async function checkUrl(ctx: VerbContext, { url }: Body): Promise<void> {
  await checkUpstreamAddress(ctx, "url", url ?? "");
}

/** Refuses an address that a channel of the type does not have, and a list of recipients without a mail server. */
function refuseAddress(type: Channel["type"], { url, recipients }: Body, { email }: AlertsValue): void {
  if (type === "email" && (url ?? "") !== "") throw fieldError("url", "cannot be set: a mail channel has recipients");
  if (type !== "email" && recipients != null) throw fieldError("recipients", "cannot be set: a webhook has a url");
  if (type === "email" && email === null)
    throw fieldError("type", "needs a mail server: set `email` with PUT /api/v1/settings/alerts first");
}

function refuseTaken(value: AlertsValue, name: string, id: string): void {
  if (channelsOf(value).some((channel) => channel.name === name && channel.id !== id))
    throw fieldError("name", "is the name of another channel");
}

/** Throws 404. */
function channelIn(value: AlertsValue, id: string): Channel {
  const found = channelsOf(value).find((channel) => channel.id === id);
  if (found === undefined) throw new GatewayError("not_found");
  return found;
}

/** The addresses of the first channels are stored where the settings have them. */
function withChannel(value: AlertsValue, id: string, channel: AlertsValue["channels"][string]): AlertsValue {
  const stored = isFirst(id) ? { ...channel, url: null, recipients: [] } : channel;
  return {
    ...value,
    channels: { ...value.channels, [id]: stored },
    slack_webhook_url: id === "slack" ? channel.url : value.slack_webhook_url,
    email: id === "email" && value.email !== null ? { ...value.email, recipients: channel.recipients } : value.email,
  };
}

function shownById(id: string) {
  return async (ctx: VerbContext, { value }: { readonly value: AlertsValue }): Promise<Omit<ShownChannel, "rev">> =>
    shown(channelIn(value, id), (await withDatabaseErrors(async () => await deliveriesOf(ctx.db))).get(id));
}

function shown({ url, ...channel }: Channel, deliveries = NOTHING_SENT): Omit<ShownChannel, "rev"> {
  return { ...channel, url_set: url !== null, ...deliveries };
}
