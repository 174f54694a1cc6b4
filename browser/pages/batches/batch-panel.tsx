/** One batch beside the list: its state, what its lines came to and cost, and when. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { sumCostUsd } from "../../forms/usage/row-cost.ts";
import { batchesTexts } from "../../messages/en/batches.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { Facts, Stack } from "../../ui/layout.tsx";
import { Usd } from "../../ui/usd.tsx";
import { BatchResults, causeOf } from "./batch-results.tsx";
import { batchState } from "./batch-states.ts";

const text = texts("batches", batchesTexts);
const EVERY_MS = 15_000;

interface BatchProps {
  readonly batch: Records["Batch"];
  /** No line of any batch has a slot. */
  readonly isWaiting: boolean;
}

export function BatchBadge({ batch, isWaiting }: BatchProps) {
  const { word, tone } = batchState(batch, isWaiting);
  return <Badge tone={tone}>{text(word)}</Badge>;
}

export function BatchPanel({ batch, isWaiting, onClose }: BatchProps & { readonly onClose: () => void }) {
  const { batch_id, endpoint, lines_total, lines_completed: completed, lines_failed: failed } = batch;
  const { created_at, in_progress_at, ended_at, expires_at } = batch;
  const tag = `batch=${batch_id}`;
  const query = { tag, since_ms: String(Date.parse(created_at)) };
  const sums = useQuery(
    read("/api/v1/usage/logs/totals", { params: { query } }, ended_at === null ? { everyMs: EVERY_MS } : {}),
  ).data;
  return (
    <Dialog isOpen onClose={onClose} place="side" title={<code>{batch_id}</code>}>
      <Stack>
        <Facts
          facts={[
            [text("file"), <bdi key="file">{formatText(batch.input_filename)}</bdi>],
            [text("state"), <BatchBadge key="state" batch={batch} isWaiting={isWaiting} />],
            [
              text("lines"),
              text("linesOf", {
                completed: formatCount(completed),
                failed: formatCount(failed),
                left: formatCount(lines_total - completed - failed),
              }),
            ],
            [text("cause"), formatText(causeOf(batch))],
            [text("cost"), <Usd key="cost" usd={sums?.requests === 0 ? undefined : sumCostUsd(sums)} />],
            [text("endpoint"), endpoint],
            [text("created"), <Age key="created" at={created_at} />],
            [text("started"), <Age key="started" at={in_progress_at} />],
            ended_at === null
              ? [text("expires"), <Age key="expires" at={expires_at} />]
              : [text("ended"), <Age key="ended" at={ended_at} />],
          ]}
        />
        <Link to="/logs" search={{ tag, period: "30d" }}>
          {text("requests")}
        </Link>
        <BatchResults batch={batch} />
      </Stack>
    </Dialog>
  );
}
