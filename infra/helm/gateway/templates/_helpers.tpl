{{- define "gateway.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Labels by which Services and policies find the pods of a plane: (dict "root" $ "plane" "edge"). */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .plane }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* A variable whose value is a key of the release's Secret: (dict "root" $ "name" "GATEWAY_X" "key" "x"). `optional`: unset without it. */}}
{{- define "gateway.secret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ required "secretName is required: the Secret with the keys that values.yaml lists" .root.Values.secretName }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}

{{/* What both planes are told. */}}
{{- define "gateway.env" -}}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_INTERNAL_TOKEN" "key" "internal-token") }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_INTERNAL_TOKEN_OLD" "key" "internal-token-old" "optional" true) }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_ENCRYPTION_KEY" "key" "encryption-key") }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_ENCRYPTION_KEYS_OLD" "key" "encryption-keys-old" "optional" true) }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_API_KEY_PEPPER" "key" "api-key-pepper") }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_API_KEY_PEPPERS_OLD" "key" "api-key-peppers-old" "optional" true) }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_REDIS_URL" "key" "redis-url") }}
{{ include "gateway.secret" (dict "root" .root "name" "GATEWAY_CLICKHOUSE_PASSWORD" "key" "clickhouse-password") }}
- name: GATEWAY_CLICKHOUSE_URL
  value: {{ required "clickhouse.url is required: the http or https URL of ClickHouse" .root.Values.clickhouse.url | quote }}
- name: GATEWAY_CLICKHOUSE_USER
  value: {{ .root.Values.clickhouse.user | quote }}
- name: GATEWAY_CLICKHOUSE_DB
  value: {{ .root.Values.clickhouse.database | quote }}
{{- range $name, $value := merge (dict) .own .root.Values.variables }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "gateway.pod" -}}
serviceAccountName: {{ include "gateway.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "gateway.selector" . | nindent 8 }}
{{- end }}

{{- define "gateway.container" -}}
image: "{{ required "image.registry is required: where the images were pushed" .root.Values.image.registry }}/{{ .plane }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
