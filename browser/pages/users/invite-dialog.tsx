import { useQueryClient } from "@tanstack/react-query";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { createInvitationSchema } from "../../../shared/schema/invitation.ts";
import { answerValue, api } from "../../data/api.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { type FieldSpec, fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { copySignInLink } from "./copy-sign-in-link.ts";
import { TenantsField } from "./tenants-field.tsx";
import { INVITATION_READS } from "./user-words.tsx";

const text = texts("users", usersTexts);
const DAYS: FieldSpec = { name: "expires_in_days", kind: "number", isNullable: false, choices: [] };
const SPECS: readonly FieldSpec[] = [...fieldSpecs(["email", "role"], USER_FIELDS), valueSpec("tenant_ids"), DAYS];
const INITIAL = { email: "", role: "user", tenant_ids: [], expires_in_days: 7 };

/** Invites somebody by email, with a role and tenants. */
export function InviteDialog({
  onClose,
  onInvited,
  onKnown,
}: {
  readonly onClose: () => void;
  readonly onInvited: () => void;
  /** The person has signed in before: what they lack is access. */
  readonly onKnown: (userId: string) => void;
}) {
  const queries = useQueryClient();
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("inviteTitle")}>
      <CreateForm
        specs={SPECS}
        schema={createInvitationSchema}
        initial={INITIAL}
        zone="UTC"
        submitLabel={text("inviteAndCopy")}
        controls={{
          tenant_ids: ({ typed, onType, error }) => (
            <TenantsField
              label={text("inviteTenants")}
              chosen={(Array.isArray(typed) ? typed : []).map((id) => ({ tenant_id: String(id), role: "viewer" }))}
              onChange={(chosen) => onType(chosen.map(({ tenant_id }) => tenant_id))}
              hasRoles={false}
              error={error}
            />
          ),
        }}
        note={({ role }) => role === "admin" && <Notice tone="warn">{text("warn_new_admin")}</Notice>}
        onSubmit={async (body, idempotencyKey) => {
          const answer = await api.POST("/api/v1/invitations", {
            params: { header: { "idempotency-key": idempotencyKey } },
            body,
          });
          const known = answer.response.status === 409 ? await userOf(body.email) : undefined;
          if (known !== undefined) {
            toast({ title: text("known", { email: known.email }), tone: "warn" });
            return onKnown(known.id);
          }
          const { email } = answerValue(answer);
          void copySignInLink(text("invited", { email }));
          for (const path of INVITATION_READS) void queries.invalidateQueries({ queryKey: [path] });
          onInvited();
        }}
      >
        <Notice>{text("inviteText")}</Notice>
      </CreateForm>
    </Dialog>
  );
}

/** Who has signed in with an email. */
async function userOf(email: string) {
  const found = answerValue(await api.GET("/api/v1/users", { params: { query: { q: email } } }));
  return found.find((user) => user.email === email);
}
