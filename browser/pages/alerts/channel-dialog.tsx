/** A channel beside the list, or a new one. Both are one file: apart, what they share would be in the first load. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeChannelSchema } from "../../../shared/schema/alert-channel.ts";
import type { ChannelType } from "../../../shared/schema/settings/alerts.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { Trial } from "../../forms/trial.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { commonText } from "../../messages/common.ts";
import { alertChannelTexts } from "../../messages/en/alert-channels.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatMs } from "../../ui/format.ts";
import { Facts, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import {
  CHANNEL_READS,
  channelSpecs,
  NEW_CONTROLS,
  newChannelSchema,
  STORED_CONTROLS,
  TypeField,
  undoChannel,
} from "./channel-form.tsx";

const text = texts("alert-channels", alertChannelTexts);
const EVERY_MS = 10_000;

interface ChannelDialogProps {
  /** null: a new one is made. */
  readonly channelId: string | null;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

export function ChannelDialog({ channelId, onClose, onCreated }: ChannelDialogProps) {
  return channelId === null ? (
    <CreateChannel onClose={onClose} onCreated={onCreated} />
  ) : (
    <ChannelPanel channelId={channelId} onClose={onClose} />
  );
}

function CreateChannel({ onClose, onCreated }: Omit<ChannelDialogProps, "channelId">) {
  const queries = useQueryClient();
  const [type, setType] = useState<ChannelType>("slack");
  const settings = useQuery(read("/api/v1/settings/alerts"));
  const hasNoServer = type === "email" && settings.data?.email === null;
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("createTitle")}>
      <Stack>
        <p>{text("createText")}</p>
        <TypeField type={type} onChoose={setType} />
        {hasNoServer ? (
          <Notice tone="warn">
            {text("emailServer")}{" "}
            <TargetLink target={pageTarget("/settings", { tab: "alerts" })}>{text("emailServerLink")}</TargetLink>
          </Notice>
        ) : (
          <CreateForm
            key={type}
            specs={channelSpecs(type)}
            schema={newChannelSchema(type)}
            initial={{ url: "", min_severity: "info", kinds: [] }}
            zone="UTC"
            controls={NEW_CONTROLS}
            submitLabel={text("create")}
            onSubmit={async (body, idempotencyKey) => {
              const made = answerValue(
                await api.POST("/api/v1/alert-channels", {
                  params: { header: { "idempotency-key": idempotencyKey } },
                  body: { ...(body as FieldValues), type } as unknown as Records["CreateAlertChannel"],
                }),
              );
              toast({ title: text("created", { name: made.name }) });
              for (const path of CHANNEL_READS) void queries.invalidateQueries({ queryKey: [path] });
              onCreated(made.id);
            }}
          />
        )}
      </Stack>
    </Dialog>
  );
}

function ChannelPanel({ channelId, onClose }: { readonly channelId: string; readonly onClose: () => void }) {
  const init = { params: { path: { id: channelId } } };
  const channel = useQuery(read("/api/v1/alert-channels/{id}", init, { everyMs: EVERY_MS }));
  return (
    <Dialog isOpen onClose={onClose} place="side" title={<bdi>{channel.data?.name ?? formatMs(null)}</bdi>}>
      {channel.error?.status === 404 ? (
        <Empty title={text("channelGone")}>{text("channelGoneText")}</Empty>
      ) : (
        <Loaded state={channel}>
          {(one) => (
            <Stack>
              <Actions channel={one} onDeleted={onClose} />
              <State channel={one} />
              <Test channel={one} />
              <Edit channel={one} />
            </Stack>
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

interface ChannelProps {
  readonly channel: Records["AlertChannel"];
}

/** On and off with undo, deletion after a question. */
function Actions({ channel: { id, name, enabled }, onDeleted }: ChannelProps & { readonly onDeleted: () => void }) {
  const path = { params: { path: { id } } };
  const said = (isOn: boolean): string => text(isOn ? "turnedOn" : "turnedOff", { name });
  const enabling = useAnnouncedWrite<boolean>({
    send: async (isOn) => await api.PATCH("/api/v1/alert-channels/{id}", { ...path, body: { enabled: isOn } }),
    touches: CHANNEL_READS,
    done: said,
    failed: () => commonText("notChanged", { name }),
    inverse: (isOn) => ({ variables: !isOn, done: said(!isOn) }),
  });
  return (
    <Row>
      <Button writes isBusy={enabling.isBusy} onClick={() => enabling.run(!enabled)}>
        {text(enabled ? "turnOff" : "turnOn")}
      </Button>
      <DeleteButton
        label={text("delete")}
        title={text("deleteTitle", { name })}
        send={async () => await api.DELETE("/api/v1/alert-channels/{id}", path)}
        touches={CHANNEL_READS}
        ends="/api/v1/alert-channels/{id}"
        done={text("deleted", { name })}
        failed={text("deleteFailed", { name })}
        onDeleted={onDeleted}
      >
        {text(id === "email" ? "deleteServerText" : "deleteText")}
      </DeleteButton>
    </Row>
  );
}

function State({ channel }: ChannelProps) {
  const { type, enabled, sent, failed, last_delivery: last } = channel;
  return (
    <Facts
      facts={[
        [
          text("channelState"),
          <Badge key="state" tone={enabled ? "good" : "neutral"}>
            {text(enabled ? "channelOn" : "channelOff")}
          </Badge>,
        ],
        [text("channelType"), text(`type_${type}`)],
        [
          text("channelLast"),
          last === null ? (
            text("channelNever")
          ) : (
            <span key="last">
              {last.ok ? text("channelSent") : text("channelNotSent", { detail: last.detail })}, <Age at={last.at} />
            </span>
          ),
        ],
        [text("deliveries"), text("deliveriesOf", { sent, failed })],
      ]}
    />
  );
}

function Test({ channel: { id } }: ChannelProps) {
  const queries = useQueryClient();
  return (
    <Trial
      label={text("test")}
      note={text("testText")}
      run={async () => {
        const path = { params: { path: { id } } };
        const result = answerValue(await api.POST("/api/v1/alert-channels/{id}/test", path));
        for (const one of CHANNEL_READS) void queries.invalidateQueries({ queryKey: [one] });
        return result;
      }}
    >
      {({ name, ok, detail }) => (
        <Notice tone={ok ? "good" : "bad"}>{text(ok ? "testOk" : "testFailed", { name, detail })}</Notice>
      )}
    </Trial>
  );
}

function Edit({ channel }: ChannelProps) {
  const { id, name, type } = channel;
  const queries = useQueryClient();
  const { zone } = useZone();
  const path = { params: { path: { id } } };
  return (
    <Panel title={text("channelEdit")}>
      <RecordForm
        what={text("channelWhat")}
        name={name}
        specs={channelSpecs(type)}
        schema={changeChannelSchema}
        record={channel}
        zone={zone}
        sends="changed"
        controls={STORED_CONTROLS}
        undoOf={undoChannel}
        send={async (body, header) =>
          await api.PATCH("/api/v1/alert-channels/{id}", {
            params: { path: { id }, header },
            body: body as Records["ChangeAlertChannel"],
          })
        }
        readNow={async () => await queries.fetchQuery({ ...read("/api/v1/alert-channels/{id}", path), staleTime: 0 })}
        touches={CHANNEL_READS}
      />
    </Panel>
  );
}
