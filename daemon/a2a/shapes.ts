/**
 * Objects of A2A 1.0.1 as its clients write them in JSON (`a2a.proto`, ProtoJSON): members that are unknown are ignored,
 * `null` counts as absent, whole numbers may be texts.
 */
import * as z from 'zod'
import type { JsonValue } from '../../protocol/encoding/json.ts'

/** Members whose content is the client's own. */
const FREE: readonly string[] = ['metadata', 'data']

/** Readers of ProtoJSON take the names of `a2a.proto` as well: `task_id` is `taskId`. */
export function camelMembers(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(camelMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return [camel, FREE.includes(camel) ? member : camelMembers(member)]
  })
  return Object.fromEntries(members)
}

const ID_CHARACTERS_MAX = 128
const PARTS_MAX = 64
const PUSH_URL_CHARACTERS_MAX = 2048
const SECRET_CHARACTERS_MAX = 4096

export const taskStates = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const
export type TaskState = (typeof taskStates)[number]

const FINAL: readonly TaskState[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]
export const isFinal = (state: TaskState): boolean => FINAL.includes(state)
/** The agent does nothing until somebody does something. */
export const isInterrupted = (state: TaskState): boolean =>
  state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'

const optional = <T extends z.ZodType>(shape: T) => z.nullish(shape).transform(value => value ?? undefined)
const id = z.string().min(1).max(ID_CHARACTERS_MAX)
/** An empty text is the default of ProtoJSON, as good as none. */
const optionalId = optional(z.string().max(ID_CHARACTERS_MAX)).transform(value => value || undefined)
const whole = (min: number, max: number) =>
  z.preprocess(
    value => (typeof value === 'string' && /^-?[0-9]{1,10}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  )
const truth = z.preprocess(
  value => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean(),
)
const INT32_MAX = 2 ** 31 - 1
export const metadataShape = z.record(z.string(), z.json())

/** In the metadata of a message: this node ends the task with the answer, and both sides sign for it. */
export const END_KEY = 'svc.end'
/** Credits that may be paid for the task, within the rules of this node for agents. */
export const PAY_KEY = 'svc.max_credits'
const messageMetadata = z
  .object({ [END_KEY]: z.boolean().optional(), [PAY_KEY]: z.int().min(0).optional() })
  .catchall(z.json())

const CONTENTS = ['text', 'raw', 'url', 'data'] as const

export const partShape = z
  .object({
    text: optional(z.string()),
    raw: optional(z.string()),
    url: optional(z.string()),
    data: z.json().optional(),
    mediaType: optional(z.string().max(255)),
    filename: optional(z.string().max(255)),
    metadata: optional(metadataShape),
  })
  .refine(part => CONTENTS.filter(name => part[name] !== undefined).length === 1, {
    message: 'expected exactly one of text, raw, url and data',
  })
export type Part = z.infer<typeof partShape>

export const partsShape = z.array(partShape).min(1).max(PARTS_MAX)

export const messageShape = z.object({
  messageId: id,
  contextId: optionalId,
  taskId: optionalId,
  role: z.literal('ROLE_USER', { error: 'expected ROLE_USER' }),
  parts: partsShape,
  metadata: optional(messageMetadata),
  extensions: optional(z.array(z.string()).max(PARTS_MAX)),
  referenceTaskIds: optional(z.array(z.string()).max(PARTS_MAX)),
})
export type UserMessage = z.infer<typeof messageShape>

const tenant = optional(z.string().max(ID_CHARACTERS_MAX))

const pushMembers = {
  tenant,
  id: optionalId,
  url: z.string().min(1).max(PUSH_URL_CHARACTERS_MAX),
  token: optional(z.string().max(SECRET_CHARACTERS_MAX)),
  authentication: optional(
    z.object({
      scheme: z.string().min(1).max(64),
      credentials: optional(z.string().max(SECRET_CHARACTERS_MAX)),
    }),
  ),
}
export const pushShape = z.object({ ...pushMembers, taskId: optionalId })
export type PushConfig = z.infer<typeof pushShape>

const configuration = z.object({
  acceptedOutputModes: optional(z.array(z.string().max(255)).max(PARTS_MAX)),
  taskPushNotificationConfig: optional(pushShape),
  historyLength: optional(whole(0, INT32_MAX)),
  returnImmediately: optional(truth),
})

const PAGE_MAX = 100
const time = z.iso.datetime({ error: 'expected a time such as 2026-11-22T10:00:00Z' })

/** Parameters by the name of their message in `a2a.proto`. */
export const requests = {
  SendMessageRequest: z.object({
    tenant,
    message: messageShape,
    configuration: optional(configuration),
    metadata: optional(metadataShape),
  }),
  GetTaskRequest: z.object({ tenant, id, historyLength: optional(whole(0, INT32_MAX)) }),
  ListTasksRequest: z.object({
    tenant,
    contextId: optionalId,
    status: optional(z.enum([...taskStates, 'TASK_STATE_UNSPECIFIED'])).transform(state =>
      state === 'TASK_STATE_UNSPECIFIED' ? undefined : state,
    ),
    pageSize: optional(whole(1, PAGE_MAX)),
    pageToken: optional(z.string().max(64)),
    historyLength: optional(whole(0, INT32_MAX)),
    statusTimestampAfter: optional(time),
    includeArtifacts: optional(truth),
  }),
  CancelTaskRequest: z.object({ tenant, id, metadata: optional(metadataShape) }),
  SubscribeToTaskRequest: z.object({ tenant, id }),
  TaskPushNotificationConfig: z.object({ ...pushMembers, taskId: id }),
  GetTaskPushNotificationConfigRequest: z.object({ tenant, taskId: id, id }),
  ListTaskPushNotificationConfigsRequest: z.object({
    tenant,
    taskId: id,
    pageSize: optional(whole(1, PAGE_MAX)),
    pageToken: optional(z.string().max(64)),
  }),
  DeleteTaskPushNotificationConfigRequest: z.object({ tenant, taskId: id, id }),
  GetExtendedAgentCardRequest: z.object({ tenant }),
} as const
export type RequestName = keyof typeof requests
export type Given<N extends RequestName> = z.infer<(typeof requests)[N]>

export type Message = {
  messageId: string
  contextId?: string
  taskId?: string
  role: 'ROLE_USER' | 'ROLE_AGENT'
  parts: object[]
  metadata?: { [name: string]: JsonValue }
  extensions?: string[]
  referenceTaskIds?: string[]
}
export type Artifact = {
  artifactId: string
  name?: string
  description?: string
  parts: object[]
  metadata?: object
}
export type TaskStatus = { state: TaskState; timestamp: string; message?: Message }
export type Task = {
  id: string
  contextId: string
  status: TaskStatus
  artifacts?: Artifact[]
  history?: Message[]
  metadata?: { [name: string]: JsonValue }
}
export type StreamItem =
  | { task: Task }
  | { message: Message }
  | { statusUpdate: { taskId: string; contextId: string; status: TaskStatus; metadata?: object } }
  | {
      artifactUpdate: {
        taskId: string
        contextId: string
        artifact: Artifact
        append?: boolean
        lastChunk?: boolean
      }
    }
