/** Push notifications: addresses that clients want called, and the calls, each event in its order until it was taken. */

import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import { Waker } from '../platform/waker.ts'
import {
  type A2aPushRow,
  type A2aTaskRow,
  a2aEventsAfter,
  a2aPush,
  a2aPushesOf,
  a2aTaskAt,
  dueA2aPushes,
  notePushed,
  putA2aPush,
  putOffPush,
  removeA2aPush,
} from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { refuseA2a } from './errors.ts'
import type { A2aSettings } from './settings.ts'
import type { PushConfig } from './shapes.ts'
import { post, TargetRefused, targetOf } from './targets.ts'
import type { TaskEvents } from './task-events.ts'
import type { TaskViews } from './views.ts'

const ID_BYTES = 12
const PER_TASK_MAX = 8
const AT_ONCE_MAX = 16
const LOOK_MS = 10_000
const CALL_MS = 15_000
/** After so many tries in a row what was to be told is left untold. */
const TRIES_MAX = 12

export class PushConfigs {
  readonly #store: Store
  readonly #taskEvents: Pick<TaskEvents, 'listen'>
  readonly #views: TaskViews
  readonly #settings: A2aSettings
  readonly #machine: Machine
  readonly #restFirstMs: number
  /** Ends calls that are under way to addresses that were taken away. */
  #calling = new AbortController()
  readonly #waker: Waker
  readonly #loop: Loop
  #stopListening = () => {}

  /** `restFirstMs`: how long the first pause is after a call that failed. */
  constructor(
    parts: {
      store: Store
      taskEvents: Pick<TaskEvents, 'listen'>
      views: TaskViews
      settings: A2aSettings
      machine: Machine
    },
    restFirstMs: number,
  ) {
    const { machine } = parts
    this.#store = parts.store
    this.#taskEvents = parts.taskEvents
    this.#views = parts.views
    this.#settings = parts.settings
    this.#machine = machine
    this.#restFirstMs = restFirstMs
    this.#waker = new Waker(machine.timers)
    this.#loop = new Loop({
      name: 'a2a pushes',
      waker: this.#waker,
      log: machine.log,
      restFirstMs,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#stopListening = this.#taskEvents.listen(() => this.#waker.wake())
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#loop.stop()
  }

  /** Everything that is due now, once. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  /** All addresses were taken away: what is under way to them ends. */
  drop(): void {
    this.#calling.abort()
    this.#calling = new AbortController()
  }

  /** Refuses an address that the node would not call. */
  check({ url, token = '', authentication }: PushConfig): void {
    const said = [token, authentication?.scheme ?? '', authentication?.credentials ?? '']
    if (said.some(text => !/^[\x20-\x7e]*$/.test(text)))
      refuseA2a('InvalidParams', 'tokens and credentials are plain ASCII', 'authentication')
    try {
      targetOf(url, this.#hosts)
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error
      refuseA2a('InvalidParams', error.message, 'url')
    }
  }

  create(task: A2aTaskRow, given: PushConfig): object {
    this.check(given)
    return this.#put(task, given)
  }

  /** Keeps what came with a message. */
  keep(task: A2aTaskRow, given: PushConfig | undefined): void {
    if (given !== undefined) this.#put(task, given)
  }

  get(task: A2aTaskRow, id: string): object {
    const row = a2aPush(this.#store, task.key, id)
    return row === undefined
      ? refuseA2a('TaskNotFound', 'there is no such push configuration')
      : view(task, row)
  }

  list(task: A2aTaskRow): object {
    return { configs: a2aPushesOf(this.#store, task.key).map(row => view(task, row)), nextPageToken: '' }
  }

  remove(task: A2aTaskRow, id: string): void {
    const store = this.#store
    store.transaction(() => removeA2aPush(store, task.key, id), 'node.a2a')
  }

  get #hosts(): readonly string[] {
    return this.#settings.current?.push_hosts ?? []
  }

  #put(task: A2aTaskRow, given: PushConfig): object {
    const store = this.#store
    const { random, now } = this.#machine
    const id = given.id ?? toBase64url(random(ID_BYTES))
    const { url, token, authentication } = given
    const auth = authentication && present(authentication)
    return store.transaction(() => {
      const others = a2aPushesOf(store, task.key).filter(row => row.id !== id)
      if (others.length >= PER_TASK_MAX)
        refuseA2a('InvalidParams', `a task has at most ${PER_TASK_MAX} push configurations`)
      const config = JSON.stringify(present({ url, token, authentication: auth }))
      putA2aPush(store, { task: task.key, id, config, told: task.events, nextAt: now() })
      store.afterCommit(() => this.#waker.wake())
      return view(task, a2aPush(store, task.key, id) as A2aPushRow)
    }, 'node.a2a')
  }

  async #turn(): Promise<number> {
    const due = dueA2aPushes(this.#store, this.#machine.now(), AT_ONCE_MAX)
    const told = await Promise.all(due.map(row => this.#tell(row)))
    return told.some(Boolean) ? 0 : LOOK_MS
  }

  /** Tells the next event; whether there may be more to tell. */
  async #tell(row: A2aPushRow): Promise<boolean> {
    const store = this.#store
    const { log } = this.#machine
    const task = a2aTaskAt(store, row.task)
    const [event] = a2aEventsAfter(store, row.task, row.told)
    const item = event && this.#views.event(task, event)
    if (event === undefined) return false
    const failed = item === undefined ? undefined : await this.#call(row, JSON.stringify(item))
    if (this.#loop.signal.aborted) return false
    return store.transaction(() => {
      if (failed === undefined) notePushed(store, row, event.n)
      else if (row.tries + 1 >= TRIES_MAX) notePushed(store, row, task.events)
      else this.#putOff(row)
      if (failed !== undefined) log.warn({ task: task.id, config: row.id, why: failed }, 'a2a: a push failed')
      return failed === undefined
    }, 'node.a2a')
  }

  #putOff(row: A2aPushRow): void {
    const { now, timers } = this.#machine
    const pauseMs = this.#restFirstMs * 2 ** row.tries
    putOffPush(this.#store, row, now() + pauseMs)
    timers.after(pauseMs + 1, () => this.#waker.wake()).unref()
  }

  /** Why a call was not taken; undefined where it was. */
  async #call(row: A2aPushRow, body: string): Promise<string | undefined> {
    const { url, token, authentication } = JSON.parse(row.config) as Omit<
      PushConfig,
      'id' | 'taskId' | 'tenant'
    >
    const headers = present({
      'Content-Type': 'application/a2a+json',
      'X-A2A-Notification-Token': token,
      Authorization: authentication && `${authentication.scheme} ${authentication.credentials ?? ''}`.trim(),
    })
    const late = this.#machine.timers.deadline(CALL_MS)
    const signal = AbortSignal.any([this.#loop.signal, this.#calling.signal, late])
    try {
      const status = await post(targetOf(url, this.#hosts), headers, body, signal)
      return status >= 200 && status < 300 ? undefined : `status ${status}`
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

const view = (task: A2aTaskRow, { id, config }: A2aPushRow): object => ({
  id,
  taskId: task.id,
  ...(JSON.parse(config) as object),
})
