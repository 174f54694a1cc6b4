/** The policies of a tenant: not set, or set with their fields, which follow from the table of a tenant's fields. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type * as z from "zod";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { compressionPolicyPatch, guardrailsPolicyPatch } from "../../../shared/schema/tenant-policy.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { fieldsOf, type IfMatch, ifMatch } from "../../data/untyped.ts";
import { unlessChanged } from "../../forms/record/conflicts.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { type FieldSpec, objectSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { type Answered, useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { TENANT_READS } from "../../forms/tenant-status.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Panel, Row, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { GuardrailsTrial } from "./guardrails-trial.tsx";
import { NO_POLICY, policyOf, undoPolicy } from "./policy-undo.ts";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const GUARDRAILS = objectSpecs(TENANT_FIELDS.guardrails_policy.value.unwrap());
const COMPRESSION = objectSpecs(TENANT_FIELDS.compression_policy.value.unwrap());

export function PoliciesTab({ tenant }: TenantTabProps) {
  return (
    <Stack>
      <Guardrails tenant={tenant} />
      <Compression tenant={tenant} />
    </Stack>
  );
}

/** What is looked for in the tenant's prompts and answers, and a trial of it on a text (docs/rules/guardrails.md#trials). */
function Guardrails({ tenant }: TenantTabProps) {
  const { role } = useCurrentUser();
  return (
    <PolicyForm
      tenant={tenant}
      field="guardrails_policy"
      title={text("guardrails")}
      offText={text("policyOff")}
      specs={GUARDRAILS}
      schema={guardrailsPolicyPatch}
      send={async (policy, header) =>
        await api.PATCH("/api/v1/tenants/{id}/guardrails", {
          params: { path: { id: tenant.id }, header },
          body: { policy: policy as Records["TenantGuardrails"]["policy"] },
        })
      }
      {...(role === "admin" ? { note: (values) => <GuardrailsTrial policy={values} /> } : {})}
    />
  );
}

/** What may be left out of the tenant's prompts (docs/rules/compression.md#which-passes-run). */
function Compression({ tenant }: TenantTabProps) {
  return (
    <PolicyForm
      tenant={tenant}
      field="compression_policy"
      title={text("compression")}
      offText={text("compressionOff")}
      specs={COMPRESSION}
      schema={compressionPolicyPatch}
      send={async (policy, header) =>
        await api.PATCH("/api/v1/tenants/{id}/compression", {
          params: { path: { id: tenant.id }, header },
          body: { policy: policy as Records["TenantCompression"]["policy"] },
        })
      }
    />
  );
}

interface PolicyFormProps {
  readonly tenant: Records["Tenant"];
  readonly field: "guardrails_policy" | "compression_policy";
  readonly title: string;
  /** What holds without a policy. */
  readonly offText: string;
  readonly specs: readonly FieldSpec[];
  readonly schema: z.ZodType;
  readonly send: (policy: FieldValues | null, header: IfMatch) => Answered;
  readonly note?: (values: FieldValues) => ReactNode;
}

/** The policy that is removed or set again, and the tenant as it was shown or written last. */
interface Turn {
  readonly set: FieldValues | null;
  readonly seen: FieldValues;
}

function PolicyForm({ tenant, field, title, offText, specs, schema, send, note }: PolicyFormProps) {
  const { id, name, timezone } = tenant;
  const isReadOnly = useCurrentUser().role === "user";
  const queries = useQueryClient();
  const policy = tenant[field];
  // a policy that somebody else turns off while it is edited here takes nothing away that was typed
  const [isEdited, setEdited] = useState(false);
  // a form without a policy: none is stored before something is chosen
  const [isOpen, setOpen] = useState(false);
  if (isOpen && policy !== null) setOpen(false);
  const doneText = (set: FieldValues | null): string => text(set === null ? "policyRemoved" : "policySet", { name });
  const readNow = async () =>
    await queries.fetchQuery({ ...read("/api/v1/tenants/{id}", { params: { path: { id } } }), staleTime: 0 });
  const recordOf = (one: Records["Tenant"]) => ({ ...(one[field] ?? NO_POLICY), rev: one.rev });
  const turning = useAnnouncedWrite<Turn>({
    send: async ({ set, seen }) => await send(set, ifMatch(unlessChanged([field], seen, await readNow()))),
    touches: TENANT_READS,
    done: ({ set }) => doneText(set),
    failed: () => text("policyFailed", { name }),
    inverse: (_, answer) => ({ variables: { set: policy, seen: fieldsOf(answer) }, done: doneText(policy) }),
  });
  return (
    <Panel
      title={title}
      actions={
        !(isReadOnly || isOpen) && (
          <Row>
            <Button
              writes
              isBusy={turning.isBusy}
              onClick={() => (policy === null ? setOpen(true) : turning.run({ set: null, seen: tenant }))}
            >
              {text(policy === null ? "turnOn" : "turnOff", { title })}
            </Button>
          </Row>
        )
      }
    >
      {policy === null && !(isEdited || isOpen) ? (
        <Notice>{offText}</Notice>
      ) : (
        <RecordForm
          what={text("policy")}
          name={name}
          specs={specs}
          schema={schema}
          record={policy ?? NO_POLICY}
          onEdit={setEdited}
          zone={timezone}
          sends="changed"
          undoOf={undoPolicy}
          send={async (values, header) => await send(policyOf(values), header)}
          readNow={async () => recordOf(await readNow())}
          recordIn={(answer) => recordOf(answer as Records["Tenant"])}
          touches={TENANT_READS}
          isReadOnly={isReadOnly}
          {...(note === undefined ? {} : { note })}
        />
      )}
    </Panel>
  );
}
