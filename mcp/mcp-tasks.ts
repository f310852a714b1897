/**
 * A delegation as a task of the protocol (extension io.modelcontextprotocol/tasks, MCP 2026-07-28): its id is that of the
 * interaction, and how it stands is asked of the node each time. So it outlives this server.
 */
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { interactionId } from '../protocol/control/ids.ts'
import { OperationRefused } from '../protocol/control/refusal.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import { answerOf, isAnswered } from './answer.ts'
import { ASKS_MAX } from './approval.ts'
import { capabilitiesOf, decisionOf, isForm, questionForm } from './client.ts'
import { iso } from './rows.ts'
import { runTool } from './run.ts'
import { payAgreed, paymentQuestion, pricedThread, questionKey, SPENDING } from './spending.ts'
import type { Tool, ToolContext } from './tool.ts'
import { readSince, taskDelegate } from './tools/task-delegate.ts'
import type { Thread } from './turns.ts'

export const TASKS = 'io.modelcontextprotocol/tasks'
const POLL_MS = 2_000
/** A task that was delegated anew, or with its payment, goes on under another id. */
const STEPS_MAX = 8
const SENTENCE_CHARACTERS_MAX = 300

type Given = Omit<ToolContext, 'fence' | 'askUser'>
type Reached = { id: string; created: number; changed: number }

const extensionsOf = (server: Server, context: ServerContext) =>
  capabilitiesOf(server, 'modern', context)?.extensions
export const knowsTasks = (server: Server, context: ServerContext): boolean =>
  extensionsOf(server, context)?.[TASKS] !== undefined

/** What a call of `task_delegate` gives to a client that knows tasks: a task, where one is on its way. */
export async function delegationOf(args: Record<string, unknown>, given: Given) {
  const { wait_s: _, ...words } = args
  const result = await runTool(taskDelegate, 'wait_s' in args && invalidWait(args) ? args : words, given)
  const made = 'isError' in result ? undefined : result.structuredContent
  const isOnItsWay =
    made !== undefined && !['effect', 'payment_required', 'warning'].some(name => name in made)
  if (!isOnItsWay) return result
  const taskId = String(made['interaction_id'])
  const { created, changed } = await reach(taskId, given)
  // the SDK asks content of every result of a tool
  return { resultType: 'task', ...head(taskId, created, changed), status: 'working', content: [] }
}

/** Such a call is refused as it would be without tasks. */
const invalidWait = ({ wait_s }: Record<string, unknown>): boolean =>
  !taskDelegate.input.shape.wait_s.safeParse(wait_s).success

const head = (taskId: string, created: number, changed: number) => ({
  taskId,
  createdAt: iso(created),
  lastUpdatedAt: iso(changed),
  ttlMs: null,
  pollIntervalMs: POLL_MS,
})

/** `tasks/get`, `tasks/update` and `tasks/cancel`, for clients that declare that they know tasks. */
export function serveTasks(server: Server, given: Omit<Given, 'signal'>): void {
  const params = z.looseObject({ taskId: z.string() })
  const contextOf = (context: ServerContext): Given => {
    if (!knowsTasks(server, context))
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: { [TASKS]: {} } },
      })
    return { ...given, signal: context.mcpReq.signal }
  }
  server.setRequestHandler('tasks/get', { params }, ({ taskId }, context) => {
    const { elicitation } = capabilitiesOf(server, 'modern', context) ?? {}
    const canAsk = elicitation !== undefined && isForm(elicitation)
    return taskOf(taskId, canAsk, contextOf(context))
  })
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, context) => {
    // the SDK takes the answers out of the parameters
    await update(taskId, context.mcpReq.inputResponses ?? {}, contextOf(context))
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, context) => {
    const reached = contextOf(context)
    const { id } = await reach(taskId, reached)
    await given.call('cancel', { interaction_id: id }).catch(ignoreOver)
    return {}
  })
}

/** One that has ended stays as it is, which is no mistake of the client. */
function ignoreOver(error: unknown): void {
  if (!(error instanceof OperationRefused && error.code === 'wrong_state')) throw error
}

/** Where a task goes on, and when something happened in it. */
async function reach(taskId: string, { call }: Pick<Given, 'call'>): Promise<Reached> {
  let id = taskId
  let created: number | undefined
  for (let step = 0; step < STEPS_MAX; step++) {
    const known = interactionId.safeParse(id).success
    const { items } = known ? await call('interactions', { interaction_ids: [id] }) : { items: [] }
    const [item] = items
    if (item?.side !== 'sent')
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no task ${plainLine(taskId, SENTENCE_CHARACTERS_MAX)}`,
      )
    created ??= item.created_at
    const next = item.payment?.paid_as ?? item.anew_as
    if (next === undefined) return { id, created, changed: item.last_at }
    id = next
  }
  throw new ProtocolError(ProtocolErrorCode.InternalError, `task ${taskId} went on too often`)
}

async function taskOf(taskId: string, canAsk: boolean, given: Given) {
  const { id, created, changed } = await reach(taskId, given)
  const task = head(taskId, created, changed)
  const question = canAsk ? await openQuestion(id, given) : undefined
  if (question !== undefined) {
    const request = { method: 'elicitation/create', params: questionForm(question, SPENDING) }
    return { ...task, status: 'input_required', inputRequests: { [questionKey(question)]: request } }
  }
  let thread: Thread | undefined
  const reader: Tool = {
    ...taskDelegate,
    input: z.strictObject({}),
    async run(_, context) {
      thread = await readSince(id, 0, context)
      return answerOf(thread, {}, context)
    },
  }
  const result = await runTool(reader, {}, given)
  if (thread?.state === 'cancelled') return { ...task, status: 'cancelled' }
  if (thread === undefined || !isAnswered(thread))
    return { ...task, status: 'working', ...present({ statusMessage: thread?.state }) }
  return { ...task, status: 'completed', result: { resultType: 'complete', ...result } }
}

/** What a user has to say before the task goes on, as long as nobody said it in this session. */
async function openQuestion(id: string, given: Given): Promise<string | undefined> {
  if ((given.asked.get(id) ?? 0) >= ASKS_MAX) return undefined
  return paymentQuestion(await pricedThread(id, given))
}

async function update(
  taskId: string,
  responses: Readonly<Record<string, unknown>>,
  given: Given,
): Promise<void> {
  const { id } = await reach(taskId, given)
  const question = await openQuestion(id, given)
  const response = question === undefined ? undefined : responses[questionKey(question)]
  if (question === undefined || response === undefined) return
  given.asked.set(id, ASKS_MAX)
  await payAgreed(id, { question, answer: decisionOf(response, SPENDING) }, given)
}
