/** The methods of A2A 1.0.1 (§5.3), once: both bindings, the document and the tests read this table. */
import type { RequestName } from './shapes.ts'

type Path = `/${string}`

export type MethodRow = {
  /** Verbs of the HTTP+JSON binding; the table of the specification and its proto disagree about one of them. */
  readonly verbs: readonly ('GET' | 'POST' | 'DELETE')[]
  /** Path of the HTTP+JSON binding, below the address of an agent; `{name}` stands for a parameter. */
  readonly path: Path
  readonly request: RequestName
  /** What it does, for the document. */
  readonly says: string
}

const method = (verbs: MethodRow['verbs'], path: Path, request: RequestName, says: string): MethodRow => ({
  verbs,
  path,
  request,
  says,
})

export const methods = {
  SendMessage: method(
    ['POST'],
    '/message:send',
    'SendMessageRequest',
    'gives the agent a task, or says more in one; waits for the answer unless `returnImmediately` is set',
  ),
  SendStreamingMessage: method(
    ['POST'],
    '/message:stream',
    'SendMessageRequest',
    'the same, and follows the task',
  ),
  GetTask: method(['GET'], '/tasks/{id}', 'GetTaskRequest', 'a task as it stands'),
  ListTasks: method(['GET'], '/tasks', 'ListTasksRequest', 'tasks, the one that changed last first'),
  CancelTask: method(['POST'], '/tasks/{id}:cancel', 'CancelTaskRequest', 'withdraws a task'),
  SubscribeToTask: method(
    ['POST', 'GET'],
    '/tasks/{id}:subscribe',
    'SubscribeToTaskRequest',
    'follows a task; `Last-Event-ID` brings what was missed',
  ),
  CreateTaskPushNotificationConfig: method(
    ['POST'],
    '/tasks/{taskId}/pushNotificationConfigs',
    'TaskPushNotificationConfig',
    'has the node call an address when the task goes on',
  ),
  GetTaskPushNotificationConfig: method(
    ['GET'],
    '/tasks/{taskId}/pushNotificationConfigs/{id}',
    'GetTaskPushNotificationConfigRequest',
    'one of these addresses',
  ),
  ListTaskPushNotificationConfigs: method(
    ['GET'],
    '/tasks/{taskId}/pushNotificationConfigs',
    'ListTaskPushNotificationConfigsRequest',
    'all of them',
  ),
  DeleteTaskPushNotificationConfig: method(
    ['DELETE'],
    '/tasks/{taskId}/pushNotificationConfigs/{id}',
    'DeleteTaskPushNotificationConfigRequest',
    'calls it no more',
  ),
  GetExtendedAgentCard: method(
    ['GET'],
    '/extendedAgentCard',
    'GetExtendedAgentCardRequest',
    'the card with what only holders of the token see',
  ),
} as const satisfies Record<string, MethodRow>

export type MethodName = keyof typeof methods

export const isMethod = (name: string): name is MethodName => Object.hasOwn(methods, name)

const patterns = Object.entries(methods).map(([name, { verbs, path }]) => ({
  name: name as MethodName,
  verbs: verbs as readonly string[],
  pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/:]+)')}$`),
}))

/** The method that a path of the HTTP+JSON binding means, with the parameters in it; `verbs` where another verb was meant. */
export function methodAt(
  verb: string,
  path: string,
): { name: MethodName; given: Record<string, string> } | { verbs: readonly string[] } | undefined {
  const found = patterns.flatMap(({ name, verbs, pattern }) => {
    const match = pattern.exec(path)
    return match === null ? [] : [{ name, verbs, given: { ...match.groups } }]
  })
  const meant = found.find(({ verbs }) => verbs.includes(verb))
  if (meant !== undefined) return { name: meant.name, given: meant.given }
  return found.length === 0 ? undefined : { verbs: found.flatMap(({ verbs }) => verbs) }
}

/** First segments of paths that are methods, and so no agents. */
export const ownSegments: readonly string[] = [
  ...new Set(Object.values(methods).map(({ path }) => path.split('/')[1] as string)),
  '.well-known',
]
