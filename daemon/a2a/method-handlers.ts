/** What each method of A2A does here: tasks of agents, by the operations of the node. */
import type { Timers } from '../../protocol/timers.ts'
import { type A2aTaskRow, a2aTaskById, countA2aTasks, listA2aTasks } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { OWN } from './capability-calls.ts'
import { refuseA2a } from './errors.ts'
import type { Operations } from './sending.ts'
import { type Given, isFinal, isInterrupted, type Message, type Task, type TaskState } from './shapes.ts'
import type { TaskEvents } from './task-events.ts'
import type { TaskViews } from './views.ts'

const PAGE_DEFAULT = 50
/** Clients give up on an answer that does not begin; one that asks again gets the same task. */
const WAIT_MS = 270_000

export class MethodHandlers {
  readonly #store: Store
  readonly #views: TaskViews
  readonly #taskEvents: TaskEvents
  readonly #operations: Operations
  readonly #timers: Timers

  constructor(parts: {
    store: Store
    views: TaskViews
    taskEvents: TaskEvents
    operations: Operations
    timers: Timers
  }) {
    this.#store = parts.store
    this.#views = parts.views
    this.#taskEvents = parts.taskEvents
    this.#operations = parts.operations
    this.#timers = parts.timers
  }

  /** The task once it is over or waits for the client, or at once where the client says so. */
  async answer(
    task: A2aTaskRow,
    given: Given<'SendMessageRequest'>,
    signal: AbortSignal,
  ): Promise<{ task: Task } | { message: Message }> {
    const { returnImmediately = false, historyLength } = given.configuration ?? {}
    const settled = returnImmediately ? task : await this.#settled(task, signal)
    const message = this.#views.directAnswer(settled)
    if (message !== undefined && !returnImmediately) return { message }
    return { task: this.#views.task(settled, { historyLength }) }
  }

  get(agent: string | undefined, { id, historyLength }: Given<'GetTaskRequest'>): Task {
    return this.#views.task(this.find(agent, id), { historyLength })
  }

  list(agent: string | undefined, given: Given<'ListTasksRequest'>) {
    const store = this.#store
    const { pageSize = PAGE_DEFAULT, historyLength = 0, includeArtifacts = false } = given
    const filter = {
      agent,
      context: given.contextId,
      state: given.status,
      since: given.statusTimestampAfter === undefined ? 0 : Date.parse(given.statusTimestampAfter),
    }
    const rows = listA2aTasks(store, { ...filter, before: pageAt(given.pageToken), limit: pageSize + 1 })
    const page = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? page.at(-1) : undefined
    return {
      tasks: page.map(row => this.#views.task(row, { historyLength, artifacts: includeArtifacts })),
      nextPageToken: last === undefined ? '' : `${last.stateAt}.${last.key}`,
      pageSize,
      totalSize: countA2aTasks(store, filter),
    }
  }

  async cancel(agent: string | undefined, { id }: Given<'CancelTaskRequest'>): Promise<Task> {
    const task = this.find(agent, id)
    if (task.state === 'TASK_STATE_CANCELED') return this.#views.task(task)
    if (isFinal(task.state as TaskState)) refuseA2a('TaskNotCancelable', 'the task is over')
    if (task.agent === OWN) return this.#cancelOwn(task)
    if (task.interaction === null) return refuseA2a('TaskNotCancelable')
    const { id: interaction_id } = this.#taskEvents.interactionOf(task)
    await this.#operations.cancel({ interaction_id })
    return this.#views.task(this.#taskEvents.look(task.key))
  }

  /** A call that waits for its payment; one that runs is not stopped. */
  #cancelOwn(task: A2aTaskRow): Task {
    const store = this.#store
    if (task.interaction !== null) refuseA2a('TaskNotCancelable', 'a call that runs is not stopped')
    const standing = { state: 'TASK_STATE_CANCELED', message: undefined } as const
    store.transaction(() => this.#taskEvents.tellStatus(task.key, standing), 'node.a2a')
    this.#taskEvents.announce(task.key)
    return this.#views.task(this.#taskEvents.look(task.key))
  }

  /** The task of an id as it stands; of any agent where none is named. */
  find(agent: string | undefined, id: string): A2aTaskRow {
    const found = a2aTaskById(this.#store, id)
    if (found === undefined || (agent !== undefined && found.agent !== agent))
      return refuseA2a('TaskNotFound')
    return this.#taskEvents.look(found.key)
  }

  #settled(task: A2aTaskRow, signal: AbortSignal): Promise<A2aTaskRow> {
    const [taskEvents, timers] = [this.#taskEvents, this.#timers]
    const rests = ({ state }: A2aTaskRow) => isFinal(state as TaskState) || isInterrupted(state as TaskState)
    return new Promise((resolve, reject) => {
      const settle = () => {
        timers.clear(timer)
        stop()
        signal.removeEventListener('abort', settle)
        try {
          resolve(taskEvents.look(task.key))
        } catch (error) {
          reject(error)
        }
      }
      const timer = timers.after(WAIT_MS, settle)
      const stop = taskEvents.listen(key => {
        if (key === task.key && rests(taskEvents.look(key))) settle()
      })
      signal.addEventListener('abort', settle)
      if (signal.aborted || rests(taskEvents.look(task.key))) settle()
    })
  }
}

function pageAt(token: string | undefined): { stateAt: number; key: number } | undefined {
  if (token === undefined || token === '') return undefined
  const [, stateAt, key] = /^(\d{1,15})\.(\d{1,15})$/.exec(token) ?? []
  if (stateAt === undefined)
    refuseA2a('InvalidParams', 'expected the nextPageToken of the page before', 'pageToken')
  return { stateAt: Number(stateAt), key: Number(key) }
}
