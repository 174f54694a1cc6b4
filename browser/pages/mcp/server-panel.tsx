/** One MCP server beside the list: whether it answers and with which tools, who can use it, and its changes. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { updateMcpServerSchema } from "../../../shared/schema/mcp-server.ts";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { mcpServerTexts } from "../../messages/en/mcp-server.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatMs } from "../../ui/format.ts";
import { Facts, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Failure, Loaded, Notice } from "../../ui/states.tsx";
import { SERVER_READS, SERVER_SPECS } from "./server-form.ts";
import { modelsOf } from "./server-rows.ts";
import { trialOf } from "./server-trial.ts";
import { trialError } from "./trial-error.ts";

const text = texts("mcp-server", mcpServerTexts);
const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));
const EVERY_MS = 20_000;

interface ServerProps {
  readonly server: Records["McpServer"];
}

export function ServerPanel({ serverId, onClose }: { readonly serverId: string; readonly onClose: () => void }) {
  const init = { params: { path: { id: serverId } } };
  const { zone } = useZone();
  const server = useQuery(read("/api/v1/mcp-servers/{id}", init, { everyMs: EVERY_MS }));
  const shown = server.data?.id === serverId.toLowerCase() ? server.data : undefined;
  const isGone = server.error !== null && (server.error.status === 404 || server.error.status === 400);
  return (
    <Dialog isOpen onClose={onClose} place="side" title={<bdi>{shown?.name ?? formatMs(null)}</bdi>}>
      {isGone ? (
        <Empty title={text("gone")}>{commonText("gone")}</Empty>
      ) : (
        <Loaded state={{ ...server, data: shown }}>
          {(one) => (
            <Stack key={one.id}>
              <Actions server={one} onDeleted={onClose} />
              <Tools server={one} />
              <Use server={one} />
              <Edit server={one} />
              <Facts
                facts={[
                  [text("created"), <Age key="created" at={one.created_at} />],
                  [text("updated"), <Age key="updated" at={one.updated_at} />],
                ]}
              />
              <Suspense fallback={null}>
                <History of={{ entity_type: "mcp_server", entity_id: one.id }} zone={zone} />
              </Suspense>
            </Stack>
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

/** Enabling and disabling with undo, deletion after a question. */
function Actions({ server, onDeleted }: ServerProps & { readonly onDeleted: () => void }) {
  const { id, name, enabled } = server;
  const path = { params: { path: { id } } };
  const enabledText = (isOn: boolean): string => text(isOn ? "enabledDone" : "disabledDone", { name });
  const enabling = useAnnouncedWrite<boolean>({
    send: async (isOn) => await api.PUT("/api/v1/mcp-servers/{id}", { ...path, body: { enabled: isOn } }),
    touches: SERVER_READS,
    done: enabledText,
    failed: () => commonText("notChanged", { name }),
    inverse: (isOn) => ({ variables: !isOn, done: enabledText(!isOn) }),
  });
  return (
    <Row>
      <Button writes isBusy={enabling.isBusy} onClick={() => enabling.run(!enabled)}>
        {text(enabled ? "disable" : "enable")}
      </Button>
      <DeleteButton
        label={commonText("delete")}
        title={text("deleteTitle", { name })}
        send={async () => await api.DELETE("/api/v1/mcp-servers/{id}", path)}
        touches={SERVER_READS}
        ends="/api/v1/mcp-servers/{id}"
        done={commonText("deleted", { name })}
        failed={commonText("notDeleted", { name })}
        onDeleted={onDeleted}
      >
        {text("deleteText")}
      </DeleteButton>
    </Row>
  );
}

/** The test of the connection, and the tools that the server told in it. */
function Tools({ server: { id, name } }: ServerProps) {
  const trial = useQuery(trialOf(id));
  const { data, error, isFetching, refetch } = trial;
  return (
    <Panel
      title={text("tools")}
      note={text("testText")}
      actions={
        <Button writes tone="primary" isBusy={isFetching} onClick={() => void refetch()}>
          {text("test")}
        </Button>
      }
    >
      {error !== null && <Failure title={text("test")} error={error} />}
      {data !== undefined && (
        <>
          <Notice tone={data.ok ? "good" : "bad"}>
            {text(data.ok ? "testOk" : "testBad", {
              name,
              ms: formatMs(data.latency_ms),
              count: data.tools.length,
              error: trialError(data.error),
            })}
          </Notice>
          {data.ok && data.tools.length === 0 && <p>{text("toolsNone")}</p>}
          <Row>
            {data.tools.map((tool) => (
              <Badge key={tool}>
                <bdi>{tool}</bdi>
              </Badge>
            ))}
          </Row>
        </>
      )}
    </Panel>
  );
}

function Use({ server: { name, enabled } }: ServerProps) {
  const models = useQuery(read("/api/v1/models", { params: { query: { limit: "1000" } } }));
  const used = models.data === undefined ? undefined : modelsOf(models.data, name);
  return (
    <Panel title={text("use")}>
      <p>{enabled ? text("useTenants", { name }) : text("useDisabled")}</p>
      <Facts
        facts={[
          [
            text("useModels"),
            used === undefined ? (
              formatMs(null)
            ) : used.length === 0 ? (
              text("useModelsNone")
            ) : (
              <bdi key="models">{used.join(", ")}</bdi>
            ),
          ],
        ]}
      />
    </Panel>
  );
}

function Edit({ server }: ServerProps) {
  const { id, name } = server;
  const queries = useQueryClient();
  const { zone } = useZone();
  const path = { params: { path: { id } } };
  return (
    <Panel title={text("edit")}>
      <RecordForm
        what={text("details")}
        name={name}
        specs={SERVER_SPECS}
        schema={updateMcpServerSchema}
        record={server}
        zone={zone}
        sends="changed"
        send={async (body, header) =>
          await api.PUT("/api/v1/mcp-servers/{id}", {
            params: { path: { id }, header },
            body: body as Records["UpdateMcpServer"],
          })
        }
        readNow={async () => await queries.fetchQuery({ ...read("/api/v1/mcp-servers/{id}", path), staleTime: 0 })}
        touches={SERVER_READS}
      />
    </Panel>
  );
}
