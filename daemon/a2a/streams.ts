/** Tasks followed as server-sent events: the task first, then every event in its order, under ids by which it goes on. */
import type { Context } from '../context.ts'
import { type A2aTaskRow, a2aEventsAfter, a2aTaskAt } from '../store/a2a.ts'
import { isFinal, isInterrupted, type StreamItem, type TaskState } from './shapes.ts'
import type { TaskEvents } from './task-events.ts'
import { eventView, taskView } from './views.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'attachments'>

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

/** Tells a task from now on; returns what stops it. */
export function follow(ctx: Needs, taskEvents: TaskEvents, following: Following, sink: Sink): () => void {
  const { key } = following.task
  const now = taskEvents.look(key)
  let told = following.after ?? now.events
  let stop = () => {}
  const isOver = ({ state }: A2aTaskRow) =>
    isFinal(state as TaskState) || (following.untilInterrupted && isInterrupted(state as TaskState))
  const tell = () => {
    const task = a2aTaskAt(ctx.store, key)
    for (const event of a2aEventsAfter(ctx.store, key, told)) {
      const item = eventView(ctx, task, event)
      told = event.n
      if (item !== undefined && !sink.write(item, String(event.n))) return stop()
    }
    if (!isOver(task)) return
    stop()
    sink.end()
  }
  const { historyLength } = following
  if (!sink.write({ task: taskView(ctx, now, { historyLength }) }, String(told))) return stop
  stop = taskEvents.listen(changed => {
    if (changed === key) tell()
  })
  tell()
  return stop
}
