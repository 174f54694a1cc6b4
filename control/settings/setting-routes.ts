/**
 * Routes of the settings: each setting is read and changed in the same way, and some can also be tested. A test really
 * calls what it tests.
 */
import type { z } from "zod";
import { alertsSchema, alertsTestSchema } from "../../shared/schema/settings/alerts.ts";
import { assistantSchema } from "../../shared/schema/settings/assistant.ts";
import { autoRouterSchema } from "../../shared/schema/settings/auto-router.ts";
import { boonsSchema } from "../../shared/schema/settings/boons.ts";
import { compressorSchema } from "../../shared/schema/settings/compressor.ts";
import { energySchema, energyTestBodySchema, powerReadingSchema } from "../../shared/schema/settings/energy.ts";
import {
  jobschedResolvedQuerySchema,
  jobschedResolvedSchema,
  jobschedSchema,
  jobschedTestSchema,
} from "../../shared/schema/settings/jobsched.ts";
import { listedSettingsSchema } from "../../shared/schema/settings/listed.ts";
import { usageRetentionSchema } from "../../shared/schema/settings/usage-retention.ts";
import { alertSettings, sendTestAlert } from "../alerts/alert-settings.ts";
import { endpoint, type HandlerResult, type NoOtherField } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { energySettings } from "../energy/energy-settings.ts";
import { testEnergy } from "../energy/try-power-query.ts";
import { probeCompressor } from "../kernel/outbound/compressor-probe.ts";
import {
  assistantSettings,
  autoRouterSettings,
  boonsSettings,
  retentionSettings,
} from "../kernel/settings/plain-settings.ts";
import type { SettingVerbs } from "../kernel/settings/setting.ts";
import { jobschedSettings, resolveJobsched } from "../provisioner/jobsched/jobsched-settings.ts";
import { testJobsched } from "../provisioner/jobsched/ping-jobsched.ts";
import type { ProvisionerCounters } from "../provisioner/jobsched/provisioner-counters.ts";
import { listSettings } from "./list-settings.ts";

const tag = "Settings";
const at = "/api/v1/settings";

interface SettingRoutes<Answer extends z.ZodType, Shown extends object> {
  readonly name: string;
  readonly verbs: SettingVerbs<Shown>;
  readonly answer: Answer;
  readonly read: { readonly summary: string; readonly description?: string };
  readonly change: { readonly summary: string; readonly description?: string };
}

/** Reads with GET, changes with PUT. Does not compile when the verbs return something other than the answer. */
function settingRoutes<Answer extends z.ZodType, Shown extends HandlerResult<"read", Answer> & object>(
  app: Api,
  setting: SettingRoutes<Answer, Shown> & NoOtherField<Shown, HandlerResult<"read", Answer>>,
): void {
  const { name, verbs, read, change }: SettingRoutes<Answer, Shown> = setting;
  const answer: z.ZodType = setting.answer;
  const path = `${at}/${name}`;
  endpoint(app, {
    kind: "read",
    method: "get",
    path,
    ...read,
    tag,
    answer,
    handler: async ({ ctx }) => await verbs.read(ctx),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path,
    ...change,
    tag,
    body: verbs.body,
    answer,
    handler: async ({ ctx, body }) => await verbs.save(ctx, body),
  });
}

/** The settings of the gateway itself. */
export function settingsRoutes(app: Api, deps: ApiDeps): void {
  endpoint(app, {
    kind: "read",
    method: "get",
    path: at,
    summary: "List the settings, where each value comes from and when it took effect",
    tag,
    answer: listedSettingsSchema,
    handler: async ({ ctx }) => await listSettings(ctx),
  });
  settingRoutes(app, {
    name: "alerts",
    verbs: alertSettings,
    answer: alertsSchema,
    read: { summary: "Read where alerts go; secrets show as booleans" },
    change: {
      summary: "Set where alerts go; omitted fields keep their values",
      description:
        "Secrets that are omitted or blank are kept; `clear_slack_webhook` and `clear_smtp_password` remove them. `email: null` turns email off; to turn it on, `email` needs a host, a sender and at least one recipient. The webhook's address must pass the address policy.",
    },
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: `${at}/alerts/test`,
    summary: "Send a test alert on every configured channel",
    description:
      "Ignores the cooldown. A channel that fails is retried once; the response has the result of each channel and never a secret.",
    tag,
    answer: alertsTestSchema,
    handler: async ({ ctx }) => await sendTestAlert(ctx, deps.consoleUrl),
  });
  settingRoutes(app, {
    name: "usage-retention",
    verbs: retentionSettings(deps.usageRetentionDays),
    answer: usageRetentionSchema,
    read: { summary: "Read how long raw usage rows are kept" },
    change: {
      summary: "Set how long raw usage rows are kept",
      description: "Raw rows are deleted by whole days once they are older. The daily rollup is kept forever.",
    },
  });
  settingRoutes(app, {
    name: "auto-router",
    verbs: autoRouterSettings,
    answer: autoRouterSchema,
    read: { summary: "Read the auto router's settings" },
    change: {
      summary: "Configure the auto router's classifier",
      description:
        "A blank `classifier_model` clears it and turns the classifier off; routing then uses capacity, cost and keywords. A timeout of 0 keeps the stored one.",
    },
  });
  settingRoutes(app, {
    name: "boons",
    verbs: boonsSettings,
    answer: boonsSchema,
    read: { summary: "Read the global settings of boons" },
    change: {
      summary: "Change the global settings of boons; omitted fields and zeros keep their values",
      description:
        "Boons are model add-ons. A boon works for models that list it while its switch here is on. At most 3 repair attempts and 8 tool turns; larger values are reduced to these. A blank model clears the model, a blank prompt keeps the prompt, a blank nudge restores the default nudge.",
    },
  });
  settingRoutes(app, {
    name: "assistant",
    verbs: assistantSettings,
    answer: assistantSchema,
    read: { summary: "Read the assistant's settings" },
    change: {
      summary: "Change the assistant's settings",
      description: "Tools that `tools_enabled` does not list are enabled. The map replaces the stored one.",
    },
  });
}

/**
 * The settings that lead to parts of the operator's own infrastructure: metrics server, job scheduler, compression sidecar.
 */
export function infrastructureSettingsRoutes(
  app: Api,
  { store, compressor, provisioner }: ApiDeps & { readonly provisioner: ProvisionerCounters },
): void {
  settingRoutes(app, {
    name: "energy",
    verbs: energySettings(store),
    answer: energySchema,
    read: { summary: "Read the energy settings, with the last reading" },
    change: {
      summary: "Change the energy settings",
      description:
        "While `enabled`, `prometheus_url` and `power_query` are required. An interval of 0 keeps the stored one. A model is included if its `energy_slots_per_node` is above 0.",
    },
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: `${at}/energy/test`,
    summary: "Run the power query once, stored or given",
    description:
      "Runs `sum(<power_query>)` and `count(<power_query>)` and saves nothing. Omitted fields use the stored values.",
    tag,
    body: energyTestBodySchema,
    answer: powerReadingSchema,
    handler: async ({ ctx, body }) => await testEnergy(ctx, body),
  });
  settingRoutes(app, {
    name: "jobsched",
    verbs: jobschedSettings(store),
    answer: jobschedSchema,
    read: {
      summary: "Read the job scheduler's settings, with the token masked",
      description: "The provisioner counts as running for 60 seconds after it has read its settings.",
    },
    change: {
      summary: "Change the job scheduler's settings",
      description:
        "While `enabled`, `url` and `user` are required. An omitted or blank token keeps the stored one; `clear_token` removes it. The settings apply from the provisioner's next tick.",
    },
  });
  endpoint(app, {
    kind: "read",
    method: "post",
    path: `${at}/jobsched/test`,
    summary: "Test the connection to the job scheduler: token expiry and one ping",
    description:
      "The expiry is read from the token, not verified. If the scheduler does not respond, `ping.ok` is false, with the reason.",
    tag,
    answer: jobschedTestSchema,
    handler: async ({ ctx }) => await testJobsched(ctx),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: `${at}/jobsched/resolved`,
    summary: "Read the job scheduler's settings for the provisioner, with the token in plain text",
    description:
      "Only for the provisioner: the call is its heartbeat and reports its previous tick. No other read returns a secret.",
    tag,
    access: "token",
    query: jobschedResolvedQuerySchema,
    answer: jobschedResolvedSchema,
    noStore: true,
    handler: async ({ ctx, query }) => await resolveJobsched(ctx, store, provisioner, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: `${at}/compressor`,
    summary: "Probe the compression sidecar",
    description: "Problems are in `error` and do not fail the request.",
    tag,
    answer: compressorSchema,
    handler: async () => await probeCompressor(compressor.url, compressor.timeoutMs),
  });
}
