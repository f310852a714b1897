/** Operations that read one task: its thread, its files. */
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import { answerTurnOf, goOnFrom, hasWordsFrom } from '../store/turns.ts'
import { isOver } from '../tasks/standing.ts'
import type { AttachmentLinks } from './attachments.ts'
import type { GivenTasks } from './given-tasks.ts'
import type { TaskOperations } from './handlers.ts'
import { markRead } from './listing.ts'
import type { TaskFiles } from './pulling.ts'
import type { TaskFinder } from './task-finder.ts'
import type { InteractionViews } from './views.ts'
import type { Waiting } from './waiting.ts'

type ThreadParts = {
  store: Store
  tasks: TaskFinder
  views: InteractionViews
  waiting: Waiting
  shown: GivenTasks
}

export function threadOperations({
  store,
  tasks,
  views,
  waiting,
  shown,
}: ThreadParts): Pick<TaskOperations, 'thread'> {
  return {
    async thread(given, signal) {
      const id = given.interaction_id
      const from = given.from_turn
      const waits = (given.wait_s ?? 0) > 0
      const answerTurn = () => (given.answer === true ? answerTurnOf(store, tasks.at(id)) : 1)
      const view = (options: { textFiles?: boolean } = {}) =>
        views.thread(tasks.at(id), {
          fromTurn: from === undefined ? answerTurn() : waits ? goOnFrom(store, tasks.at(id), from) : from,
          fromChar: given.from_char,
          maxChars: given.max_chars,
          ownChars: given.own_chars,
          ...options,
        })
      const hasWords = (one: Interaction) =>
        from === undefined
          ? one.lastIn > one.readTo
          : hasWordsFrom(store, one, from) || goOnFrom(store, one, from) < from
      if (waits)
        await waiting.until(
          id,
          given.wait_s as number,
          signal,
          one => hasWords(one) || isOver(one) || one.endBy === 'peer',
        )
      const thread = view({ textFiles: given.text_files === true })
      // what cannot be written down now can still be read
      if (given.mark_read !== false && thread.next_turn === undefined)
        store.attempt(() => markRead(store, tasks.at(id)))
      if (given.to_person === true) shown.notePriceShown(tasks.at(id))
      return thread
    },
  }
}

type FileParts = { tasks: TaskFinder; files: TaskFiles; links: AttachmentLinks }

export const fileOperations = ({
  tasks,
  files,
  links,
}: FileParts): Pick<TaskOperations, 'pull' | 'attachmentLink'> => ({
  async pull(given) {
    return files.save(tasks.at(given.interaction_id), given.out)
  },
  async attachmentLink({ interaction_id, cid }) {
    return links.to(tasks.at(interaction_id), cid)
  },
})
