{{- define "riftrelay.name" -}}
{{- if contains (default "riftrelay" .Values.nameOverride) .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (default "riftrelay" .Values.nameOverride) | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "riftrelay.selector" -}}
app.kubernetes.io/name: riftrelay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "riftrelay.labels" -}}
{{ include "riftrelay.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "riftrelay.secret" -}}
{{ .Values.existingSecret | default (include "riftrelay.name" .) }}
{{- end -}}

{{- /* shared says whether the replicas have a store. That of an existing Secret can't be seen, and is taken at its word. */ -}}
{{- define "riftrelay.shared" -}}
{{- if or .Values.secrets.storeURL (and .Values.existingSecret (gt (int .Values.replicas) 1)) }}yes{{ end -}}
{{- end -}}
