/** The methods of A2A by their names: parameters read, agent found, answered by what each of them does. Both bindings call this alone. */
import type { Logger } from 'pino'
import { faultIn } from '../../protocol/contract/fault.ts'
import { controlCodes } from '../../protocol/control/codes.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { isOutOfRoom } from '../platform/room.ts'
import type { Agents } from './agents.ts'
import { type Means, OWN } from './capability-calls.ts'
import { type A2aError, A2aRefused, refuseA2a } from './errors.ts'
import type { MethodHandlers } from './method-handlers.ts'
import type { MethodName } from './methods.ts'
import type { PushConfigs } from './pushes.ts'
import type { Sending } from './sending.ts'
import type { Settlements } from './settlements.ts'
import { camelMembers, type Given, isFinal, type RequestName, requests, type TaskState } from './shapes.ts'
import type { Following } from './streams.ts'
import { PaymentNeeded } from './x402.ts'

/** For whom and how a client asks. */
export type Asking = {
  /** First segment of the path, where there is one. */
  tenant: string | undefined
  /** Address of the interface, as the client calls it. */
  base: string
  lastEventId: string | undefined
  /** What came to pay for the call, and whether the client speaks the extension for it. */
  means: Means
  /** Ends with the call: its client is gone, the interface closes, or its token was replaced. */
  signal: AbortSignal
  /** Ends with the token that opened the call. */
  authority: AbortSignal
}
/** `settled`: what the hub said of the payment that came with the request. */
export type ServedOutcome = ({ reply: object } | { follow: Following }) & { settled?: object }

type ServiceParts = {
  agents: Agents
  methodHandlers: MethodHandlers
  sending: Sending
  settlements: Settlements
  pushes: PushConfigs
}

export class Service {
  readonly #parts: ServiceParts
  readonly #log: Logger

  constructor(parts: ServiceParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** Throws {@link A2aRefused}. */
  async call(name: MethodName, params: JsonValue, asking: Asking): Promise<ServedOutcome> {
    try {
      return await this.#call(name, camelMembers(params), asking)
    } catch (error) {
      throw refusedAs(error, this.#log)
    }
  }

  #call(name: MethodName, params: JsonValue, asking: Asking): Promise<ServedOutcome> | ServedOutcome {
    const { agents, methodHandlers, pushes } = this.#parts
    const read = <N extends RequestName>(shape: N): Given<N> => readAs(shape, params)
    const agent = this.#agentOf(asking, params)
    switch (name) {
      case 'SendMessage':
        return this.#send(agent, read('SendMessageRequest'), asking)
      case 'SendStreamingMessage':
        return this.#stream(agent, read('SendMessageRequest'), asking)
      case 'SubscribeToTask':
        return { follow: this.#subscribe(agent, read('SubscribeToTaskRequest').id, asking.lastEventId) }
      case 'GetTask':
        return { reply: methodHandlers.get(agent, read('GetTaskRequest')) }
      case 'ListTasks':
        return { reply: methodHandlers.list(agent, read('ListTasksRequest')) }
      case 'CancelTask':
        return methodHandlers.cancel(agent, read('CancelTaskRequest')).then(reply => ({ reply }))
      case 'CreateTaskPushNotificationConfig': {
        const given = read('TaskPushNotificationConfig')
        return { reply: pushes.create(methodHandlers.find(agent, given.taskId), given) }
      }
      case 'GetTaskPushNotificationConfig': {
        const { taskId, id } = read('GetTaskPushNotificationConfigRequest')
        return { reply: pushes.get(methodHandlers.find(agent, taskId), id) }
      }
      case 'ListTaskPushNotificationConfigs': {
        const { taskId } = read('ListTaskPushNotificationConfigsRequest')
        return { reply: pushes.list(methodHandlers.find(agent, taskId)) }
      }
      case 'DeleteTaskPushNotificationConfig': {
        const { taskId, id } = read('DeleteTaskPushNotificationConfigRequest')
        pushes.remove(methodHandlers.find(agent, taskId), id)
        return { reply: {} }
      }
      case 'GetExtendedAgentCard':
        return { reply: agents.card(agent, asking.base, true) }
    }
  }

  async #send(
    agent: string | undefined,
    given: Given<'SendMessageRequest'>,
    { means, signal, authority }: Asking,
  ): Promise<ServedOutcome> {
    const { methodHandlers, sending, settlements, pushes } = this.#parts
    const wanted = given.configuration?.taskPushNotificationConfig
    if (wanted !== undefined) pushes.check(wanted)
    const { task } = await sending.send(agent ?? OWN, given, means)
    authority.throwIfAborted()
    pushes.keep(task, wanted)
    const reply = await methodHandlers.answer(task, given, signal)
    return { reply, ...(await settlements.of(task, means, signal)) }
  }

  async #stream(
    agent: string | undefined,
    given: Given<'SendMessageRequest'>,
    { means, signal, authority, lastEventId }: Asking,
  ): Promise<ServedOutcome> {
    const { sending, settlements, pushes } = this.#parts
    const { taskPushNotificationConfig: wanted, historyLength } = given.configuration ?? {}
    if (wanted !== undefined) pushes.check(wanted)
    const { task, since } = await sending.send(agent ?? OWN, given, means)
    authority.throwIfAborted()
    pushes.keep(task, wanted)
    const after = lastEventId === undefined ? since : eventNumber(lastEventId, task.events)
    const following = { task, after, untilInterrupted: true, historyLength }
    return { follow: following, ...(await settlements.of(task, means, signal)) }
  }

  #subscribe(agent: string | undefined, id: string, lastEventId: string | undefined): Following {
    const task = this.#parts.methodHandlers.find(agent, id)
    if (isFinal(task.state as TaskState) && lastEventId === undefined)
      refuseA2a('UnsupportedOperation', 'the task is over, nothing more will happen; GetTask has all of it')
    const after = lastEventId === undefined ? undefined : eventNumber(lastEventId, task.events)
    const untilInterrupted = false
    return { task, after, untilInterrupted, historyLength: undefined }
  }

  #agentOf({ tenant }: Asking, params: JsonValue): string | undefined {
    const given = (params as { tenant?: unknown } | null)?.tenant
    const named = typeof given === 'string' && given !== '' ? given : undefined
    const [agent, ...others] = [tenant, named]
      .filter(name => name !== undefined)
      .map(name => this.#parts.agents.called(name))
    if (others.some(other => other !== agent))
      refuseA2a('InvalidParams', 'the address names another agent than the tenant', 'tenant')
    return agent
  }
}

function readAs<N extends RequestName>(name: N, params: JsonValue): Given<N> {
  const read = requests[name].safeParse(params)
  if (read.success) return read.data as Given<N>
  const [issue] = read.error.issues
  if (issue === undefined) return refuseA2a('InvalidParams')
  return refuseA2a(
    'InvalidParams',
    faultIn(issue, params, 'the parameters'),
    issue.path.map(String).join('.'),
  )
}

function eventNumber(text: string, newest: number): number {
  const n = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(n <= newest)) refuseA2a('InvalidParams', 'there is no event of this id', 'Last-Event-ID')
  return n
}

const errorOf: Partial<Record<OperationRefused['code'], A2aError>> = {
  bad_request: 'InvalidParams',
  unknown_peer: 'InvalidParams',
  idempotency_conflict: 'InvalidParams',
  too_large: 'InvalidParams',
  file_unreadable: 'InvalidParams',
  unknown_interaction: 'TaskNotFound',
  wrong_state: 'UnsupportedOperation',
  no_hub: 'UnsupportedOperation',
  no_credits: 'UnsupportedOperation',
  identity_deactivated: 'UnsupportedOperation',
  old_copy: 'UnsupportedOperation',
}

/** Whatever was thrown, as a client is told it; mistakes of ours are logged and not told. */
export function refusedAs(error: unknown, log: Logger): A2aRefused | PaymentNeeded {
  if (error instanceof A2aRefused || error instanceof PaymentNeeded) return error
  if (isFull(error))
    return new A2aRefused('Internal', `the disk of the node is full; ${controlCodes.disk_full.next}`)
  if (error instanceof OperationRefused)
    return new A2aRefused(errorOf[error.code] ?? 'Internal', error.message)
  if (error instanceof Malformed) return new A2aRefused('InvalidParams', error.message)
  log.error({ err: error }, 'a2a')
  return new A2aRefused('Internal', 'the node failed to handle the request')
}

const isFull = (error: unknown): boolean =>
  isOutOfRoom(error) || (error instanceof OperationRefused && error.code === 'disk_full')
