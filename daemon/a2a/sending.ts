/** SendMessage: a message of a client becomes a task, or words in one, once for each message id. */
import { sha256 } from '#crypto'
import type { OperationInput, OperationReply } from '../../protocol/control/operations.ts'
import { equal, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  type A2aTaskRow,
  a2aMessage,
  a2aTaskAt,
  a2aTaskById,
  addA2aMessage,
  setA2aEnds,
} from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import type { Threads } from '../store/threads.ts'
import { type CapabilityCalls, type Means, OWN } from './capability-calls.ts'
import { refuseA2a } from './errors.ts'
import { type Asked, askedBy, withFiles } from './parts.ts'
import { END_KEY, type Given, isFinal, PAY_KEY, type TaskState, type UserMessage } from './shapes.ts'
import type { TaskEvents } from './task-events.ts'
import { metadataKeys } from './x402.ts'

type Used = 'delegate' | 'message' | 'end' | 'cancel'
/** The operations of the node, which this interface calls as every other client does. */
export type Operations = {
  [N in Used]: (given: OperationInput<N>) => Promise<OperationReply<N>>
}

const CONTEXT_BYTES = 16
const NAME_AN_AGENT =
  'this node itself takes calls, {"capability": …, "args": {…}} as data; for a task in words name an agent: /<AID or petname>/message:send, or tenant in the parameters'

/** `since`: the newest event before the message; undefined where the message had come before. */
export type Sent = { task: A2aTaskRow; since: number | undefined }

export class Sending {
  readonly #store: Store
  readonly #threads: Threads
  readonly #taskEvents: TaskEvents
  readonly #operations: Operations
  readonly #capabilityCalls: CapabilityCalls
  readonly #random: (length: number) => Uint8Array
  /** Messages that are on their way in: the same one twice at a moment is one. */
  readonly #underway = new Map<string, Promise<Sent>>()

  constructor(parts: {
    store: Store
    threads: Threads
    taskEvents: TaskEvents
    operations: Operations
    capabilityCalls: CapabilityCalls
    random: (length: number) => Uint8Array
  }) {
    this.#store = parts.store
    this.#threads = parts.threads
    this.#taskEvents = parts.taskEvents
    this.#operations = parts.operations
    this.#capabilityCalls = parts.capabilityCalls
    this.#random = parts.random
  }

  /** Commits the message for an agent; the same message again is the same task. */
  async send(agent: string, given: Given<'SendMessageRequest'>, means: Means): Promise<Sent> {
    const { message } = given
    const key = JSON.stringify([agent, message.messageId])
    const before = this.#underway.get(key)
    if (before !== undefined) await before.catch(() => undefined)
    const sent =
      this.#committed(agent, message) ?? this.#begin(key, () => this.#commit(agent, message, means))
    return await sent
  }

  #begin(key: string, commit: () => Promise<Sent>): Promise<Sent> {
    const sent = commit().finally(() => this.#underway.delete(key))
    this.#underway.set(key, sent)
    return sent
  }

  /** What this message id became; another message must not bear it. */
  #committed(agent: string, message: UserMessage): Sent | undefined {
    const known = a2aMessage(this.#store, agent, message.messageId)
    if (known === undefined) return undefined
    if (!equal(known.digest, digestOf(message)))
      refuseA2a(
        'InvalidParams',
        'this message id was used for another message; give each message an id of its own',
        'message.messageId',
      )
    return { task: this.#taskEvents.look(known.task), since: undefined }
  }

  async #commit(agent: string, message: UserMessage, means: Means): Promise<Sent> {
    const task = message.taskId === undefined ? undefined : this.#continued(agent, message)
    const row =
      agent === OWN
        ? this.#callOwn(task, message, means)
        : await this.#delegate(agent, task, message, askedBy(message.parts))
    return { task: this.#taskEvents.look(row.key), since: task?.events ?? 0 }
  }

  #delegate(
    agent: string,
    task: A2aTaskRow | undefined,
    message: UserMessage,
    asked: Asked,
  ): Promise<A2aTaskRow> {
    return task === undefined ? this.#open(agent, message, asked) : this.#say(task, message, asked)
  }

  /** A call of this node itself, or what pays for one. */
  #callOwn(task: A2aTaskRow | undefined, message: UserMessage, means: Means): A2aTaskRow {
    return this.#store.transaction(() => {
      const called = task === undefined ? this.#openOwn(message, means) : this.#payOwn(task, message)
      this.#keepMessage(called, message, null)
      return called
    }, 'node.a2a')
  }

  #openOwn(message: UserMessage, means: Means): A2aTaskRow {
    const asked = askedBy(message.parts)
    if (!('capability' in asked)) return refuseA2a('UnsupportedOperation', NAME_AN_AGENT)
    const paid = message.metadata?.[metadataKeys.payload] as JsonValue | undefined
    return this.#capabilityCalls.open(asked, this.#contextOf(message), {
      ...means,
      payment: means.payment ?? paid,
    })
  }

  #contextOf({ contextId }: UserMessage): string {
    return contextId ?? toBase64url(this.#random(CONTEXT_BYTES))
  }

  #payOwn(task: A2aTaskRow, message: UserMessage): A2aTaskRow {
    if (task.interaction === null) return this.#capabilityCalls.pay(task, message)
    return refuseA2a('UnsupportedOperation', 'a call takes no more messages; send another one')
  }

  /** The task that a message goes on with. */
  #continued(agent: string, { taskId = '', contextId }: UserMessage): A2aTaskRow {
    const found = a2aTaskById(this.#store, taskId)
    if (found === undefined || found.agent !== agent) return refuseA2a('TaskNotFound')
    const task = this.#taskEvents.look(found.key)
    if (contextId !== undefined && contextId !== task.context)
      refuseA2a('InvalidParams', 'the task belongs to another context', 'message.contextId')
    if (isFinal(task.state as TaskState))
      refuseA2a(
        'UnsupportedOperation',
        'the task is over and takes no more messages; send one without its id for a new task',
      )
    return task
  }

  async #open(agent: string, message: UserMessage, asked: Asked): Promise<A2aTaskRow> {
    const { messageId, metadata = {} } = message
    const credits = metadata[PAY_KEY] ?? 0
    const order = {
      to: agent,
      idempotency_key: keyOf(agent, messageId),
      // a program asks: no price that it is told counts as shown to a person
      pay_as: 'agent' as const,
      ...(credits > 0 && { pay: true, max_credits: credits }),
    }
    const { interaction_id } =
      'capability' in asked
        ? await this.#operations.delegate({ ...order, capability: asked.capability, args: asked.args })
        : await withFiles(asked.files, attach =>
            this.#operations.delegate({ ...order, task: asked.words, attach }),
          )
    return this.#keepTask(agent, message, interaction_id)
  }

  #keepTask(agent: string, message: UserMessage, id: string): A2aTaskRow {
    const threads = this.#threads
    const interaction = threads.findById(id)
    if (interaction === undefined) throw new Error('a task that was just delegated is not there')
    const [first] = threads.messages(interaction.key, 0, 1)
    return this.#store.transaction(() => {
      const context = this.#contextOf(message)
      const ends = endsIn(message) ? 1 : 0
      const task = this.#taskEvents.open({ id, agent, context, interaction: interaction.key, ends })
      this.#keepMessage(task, message, first?.key ?? null)
      return task
    }, 'node.a2a')
  }

  async #say(task: A2aTaskRow, message: UserMessage, asked: Asked): Promise<A2aTaskRow> {
    if ('capability' in asked)
      return refuseA2a('UnsupportedOperation', 'a call is a task of its own; send it without a taskId')
    const store = this.#store
    const { id, key } = this.#taskEvents.interactionOf(task)
    const isSilent = asked.words.trim() === '' && asked.files.length === 0
    // a message that ends the task needs no words of its own
    if (!isSilent || !endsIn(message))
      await withFiles(asked.files, attach =>
        this.#operations.message({
          interaction_id: id,
          text: asked.words,
          attach,
          idempotency_key: keyOf(task.agent, message.messageId),
        }),
      )
    return store.transaction(() => {
      if (endsIn(message)) setA2aEnds(store, task.key)
      const said = this.#threads.messages(key).findLast(({ direction }) => direction === 'out')
      this.#keepMessage(task, message, said?.key ?? null)
      return a2aTaskAt(store, task.key)
    }, 'node.a2a')
  }

  #keepMessage(task: A2aTaskRow, message: UserMessage, key: number | null): void {
    addA2aMessage(this.#store, {
      agent: task.agent,
      id: message.messageId,
      digest: digestOf(message),
      task: task.key,
      message: key,
      body: JSON.stringify(withoutFiles(message)),
    })
  }
}

const endsIn = ({ metadata }: UserMessage): boolean => metadata?.[END_KEY] === true

const digestOf = (message: UserMessage): Uint8Array =>
  sha256(utf8(canonicalJson(JSON.parse(JSON.stringify(message)) as JsonValue)))

/** Under this a message is delegated, so that one which a crash cut short is not delegated again. */
export const keyOf = (agent: string, messageId: string): string =>
  `a2a ${toBase64url(sha256(utf8(`${agent}\0${messageId}`)))}`

/** The message as the history tells it; bytes of files stand in the thread. */
function withoutFiles(message: UserMessage): object {
  const parts = message.parts.map(({ raw, ...part }) =>
    present(
      raw === undefined ? part : { ...part, text: `[${part.filename ?? 'file'}]`, mediaType: 'text/plain' },
    ),
  )
  return present({ ...message, parts })
}
