/** Tasks and their events as A2A writes them. */
import { present } from '../../protocol/encoding/present.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { type A2aEventRow, type A2aTaskRow, a2aEventsAfter, a2aMessagesOf } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import type { Message as ThreadMessage, Threads } from '../store/threads.ts'
import { isRequester } from '../tasks/standing.ts'
import { type Answers, type FileRoom, messageIdOf, roomForFiles } from './answers.ts'
import { A2aRefused } from './errors.ts'
import type { Artifact, Message, StreamItem, Task, TaskStatus } from './shapes.ts'
import { agentMessage } from './task-events.ts'

/** How much of the history is told where the client does not say. */
const HISTORY_DEFAULT = 100

/** In the metadata of a task: the interaction under which the work that was paid for is done and signed. */
const PAID_AS_KEY = 'svc.paid_as'

type Wanted = { historyLength?: number | undefined; artifacts?: boolean }

const unreadable = ({ id }: A2aTaskRow) =>
  new A2aRefused(
    'InvalidAgentResponse',
    `the answer of the agent cannot be read; svc thread ${id} shows it as it came`,
    undefined,
    { taskId: id },
  )

export class TaskViews {
  readonly #store: Store
  readonly #threads: Threads
  readonly #answers: Answers

  constructor(store: Store, threads: Threads, answers: Answers) {
    this.#store = store
    this.#threads = threads
    this.#answers = answers
  }

  task(task: A2aTaskRow, wanted: Wanted = {}): Task {
    const history = this.#historyOf(task, wanted.historyLength ?? HISTORY_DEFAULT)
    const paidAs = this.#paidAsOf(task)
    const artifacts = wanted.artifacts === false ? [] : this.#artifactsOf(task)
    return {
      id: task.id,
      contextId: task.context,
      status: JSON.parse(task.status) as TaskStatus,
      ...present({
        artifacts: artifacts.length === 0 ? undefined : artifacts,
        history: history.length === 0 ? undefined : history,
        metadata: paidAs === undefined ? undefined : { [PAID_AS_KEY]: paidAs },
      }),
    }
  }

  /** The interaction that does the work, where the task was paid for and goes on as another one than that of its id. */
  #paidAsOf(task: A2aTaskRow): string | undefined {
    const id = task.interaction === null ? task.id : this.#threads.byKey(task.interaction).id
    return id === task.id ? undefined : id
  }

  /** An event as every stream and every push tells it. */
  event(task: A2aTaskRow, event: A2aEventRow, room = roomForFiles()): StreamItem | undefined {
    const about = { taskId: task.id, contextId: task.context }
    const body = JSON.parse(event.body) as { status: TaskStatus } | { piece: number }
    if ('status' in body) return { statusUpdate: { ...about, status: body.status } }
    const piece = this.#pieceAt(event, body.piece, room)
    if (piece === undefined) return undefined
    const { artifact, append, lastChunk } = piece
    return { artifactUpdate: { ...about, artifact, append, lastChunk } }
  }

  #pieceAt({ message }: A2aEventRow, n: number, room: FileRoom) {
    return message === null ? undefined : this.#answers.read(this.#threads.message(message), room).pieces[n]
  }

  /** What was told so far; pieces of one artifact are put together. */
  #artifactsOf(task: A2aTaskRow): Artifact[] {
    const whole = new Map<string, Artifact>()
    const room = roomForFiles()
    for (const event of a2aEventsAfter(this.#store, task.key, 0)) {
      const item = this.event(task, event, room)
      if (item === undefined || !('artifactUpdate' in item)) continue
      const { artifact, append } = item.artifactUpdate
      const earlier = append === true ? whole.get(artifact.artifactId) : undefined
      const parts = [...(earlier?.parts ?? []), ...artifact.parts]
      whole.set(artifact.artifactId, { ...earlier, ...artifact, parts })
    }
    return [...whole.values()]
  }

  /** The newest messages of both sides, oldest first; files stand in the artifacts. */
  #historyOf(task: A2aTaskRow, length: number): Message[] {
    if (length === 0) return []
    const asked = a2aMessagesOf(this.#store, task.key).map(({ message, body }) => ({
      key: message ?? 0,
      said: { ...(JSON.parse(body) as Message), taskId: task.id, contextId: task.context },
    }))
    const answered = task.interaction === null ? [] : this.#agentWords(task, task.interaction)
    return [...asked, ...answered]
      .sort((a, b) => a.key - b.key)
      .slice(-length)
      .map(({ said }) => said)
  }

  #agentWords(task: A2aTaskRow, key: number): { key: number; said: Message }[] {
    const agent = isRequester(this.#threads.byKey(key)) ? 'in' : 'out'
    const isWords = ({ direction, kind }: ThreadMessage) =>
      direction === agent && (kind === kinds.message || kind === kinds.result)
    return this.#threads
      .messages(key)
      .filter(isWords)
      .flatMap(message => {
        const { parts } = this.#answers.read(message)
        return parts === undefined
          ? []
          : [{ key: message.key, said: agentMessage(task, messageIdOf(message), parts) }]
      })
  }

  /** The words that an agent meant as its whole answer, without a task; an answer that cannot be read is refused. */
  directAnswer(task: A2aTaskRow): Message | undefined {
    if (task.interaction === null || task.over === 0) return undefined
    const agent = isRequester(this.#threads.byKey(task.interaction)) ? 'in' : 'out'
    const newest = this.#threads
      .messages(task.interaction)
      .findLast(({ direction, kind }) => direction === agent && kind === kinds.message)
    const answer = newest && this.#answers.read(newest)
    if (answer?.isMalformed === true) throw unreadable(task)
    if (newest === undefined || answer?.isDirect !== true) return undefined
    const { taskId: _, ...message } = agentMessage(task, messageIdOf(newest), answer.parts ?? [])
    return message
  }
}
