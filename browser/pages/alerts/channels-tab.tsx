/** Who gets alerts: the channels, the rule of each, and how its last message went. */
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { alertChannelTexts } from "../../messages/en/alert-channels.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { ruleText } from "./channel-words.ts";

const text = texts("alerts", alertsTexts);
const channelText = texts("alert-channels", alertChannelTexts);
const ChannelDialog = lazy(async () => ({ default: (await import("./channel-dialog.tsx")).ChannelDialog }));
const EVERY_MS = 10_000;
/** In the address, in place of the id of a channel. */
const NEW = "new";

type Channel = Records["AlertChannel"];

export function ChannelsTab({
  openId,
  onOpen,
}: {
  readonly openId: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
}) {
  const channels = useQuery(read("/api/v1/alert-channels", {}, { everyMs: EVERY_MS }));
  const view = useListView({ rows: channels.data, columns: COLUMNS });
  const add = (
    <Button writes tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => onOpen(NEW)}>
      {text("channelAdd")}
    </Button>
  );
  const isEmpty = channels.data?.length === 0;
  return (
    <>
      <ListTable
        state={channels}
        view={view}
        title={text("channels")}
        actions={
          <>
            {view.choice}
            {!isEmpty && add}
          </>
        }
        label={text("channelsList")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => onOpen(id)}
        openKey={openId}
        empty={
          <Empty title={text("channelsNone")} action={add}>
            {text("channelsNoneText")}
          </Empty>
        }
      />
      <Suspense fallback={null}>
        {openId !== undefined && (
          <ChannelDialog
            key={openId}
            channelId={openId === NEW ? null : openId}
            onClose={() => onOpen(undefined)}
            onCreated={onOpen}
          />
        )}
      </Suspense>
    </>
  );
}

const COLUMNS: readonly ListColumn<Channel>[] = [
  { id: "name", head: text("channelName"), sortBy: ({ name }) => name, cell: ({ name }) => <bdi>{name}</bdi> },
  {
    id: "type",
    head: channelText("channelType"),
    sortBy: ({ type }) => type,
    cell: ({ type, recipients }) => <span title={recipients.join(", ")}>{channelText(`type_${type}`)}</span>,
  },
  {
    id: "rule",
    head: text("channelRule"),
    isWide: true,
    cell: (channel) => <span title={channel.kinds.join(", ")}>{ruleText(channel)}</span>,
  },
  { id: "last", head: channelText("channelLast"), cell: (channel) => <LastDelivery channel={channel} /> },
  {
    id: "failed",
    head: text("channelFailedCount"),
    align: "right",
    sortBy: ({ failed }) => failed,
    cell: ({ failed }) => formatCount(failed),
  },
  {
    id: "state",
    head: channelText("channelState"),
    sortBy: ({ enabled }) => Number(enabled),
    cell: ({ enabled }) => (
      <Badge tone={enabled ? "good" : "neutral"}>{channelText(enabled ? "channelOn" : "channelOff")}</Badge>
    ),
  },
];

function LastDelivery({ channel: { last_delivery: last } }: { readonly channel: Channel }) {
  if (last === null) return channelText("channelNever");
  return (
    <span title={last.detail}>
      <Badge tone={last.ok ? "good" : "bad"}>
        {last.ok ? channelText("channelSent") : channelText("channelNotSent", { detail: last.detail })}
      </Badge>{" "}
      <Age at={last.at} />
    </span>
  );
}
