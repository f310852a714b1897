/** Tasks followed as server-sent events: the task first, then every event in its order, under ids by which it goes on. */
import { type A2aTaskRow, a2aEventsAfter, a2aTaskAt } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { isFinal, isInterrupted, type StreamItem, type TaskState } from './shapes.ts'
import type { TaskEvents } from './task-events.ts'
import type { TaskViews } from './views.ts'

export type Sink = {
  /** False once the reader is too slow, or gone. */
  write(item: StreamItem, id: string): boolean
  end(): void
}

export type Following = {
  task: A2aTaskRow
  /** The newest event that the client has; the stream goes on after it. */
  after: number | undefined
  /** Whether the stream ends where the client has to say something. */
  untilInterrupted: boolean
  historyLength: number | undefined
}

export class TaskStreams {
  readonly #store: Store
  readonly #taskEvents: TaskEvents
  readonly #views: TaskViews

  constructor(store: Store, taskEvents: TaskEvents, views: TaskViews) {
    this.#store = store
    this.#taskEvents = taskEvents
    this.#views = views
  }

  /** Tells a task from now on; returns what stops it. */
  follow(following: Following, sink: Sink): () => void {
    const { key } = following.task
    const now = this.#taskEvents.look(key)
    let told = following.after ?? now.events
    let stop = () => {}
    const isOver = ({ state }: A2aTaskRow) =>
      isFinal(state as TaskState) || (following.untilInterrupted && isInterrupted(state as TaskState))
    const tell = () => {
      const task = a2aTaskAt(this.#store, key)
      for (const event of a2aEventsAfter(this.#store, key, told)) {
        const item = this.#views.event(task, event)
        told = event.n
        if (item !== undefined && !sink.write(item, String(event.n))) return stop()
      }
      if (!isOver(task)) return
      stop()
      sink.end()
    }
    const { historyLength } = following
    if (!sink.write({ task: this.#views.task(now, { historyLength }) }, String(told))) return stop
    stop = this.#taskEvents.listen(changed => {
      if (changed === key) tell()
    })
    tell()
    return stop
  }
}
