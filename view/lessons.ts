/** What is explained once, in one line: the first stranger, the first delegation, the first receipt. */
import type { View } from './state.ts'

export type Lesson = { name: string; says: string }

const LESSONS: readonly (Lesson & { holds: (item: Item) => boolean })[] = [
  {
    name: 'stranger',
    holds: item => item.side === 'received' && item.state === 'pending',
    says: 'a stranger asks: nothing runs and nobody answers until you say yes',
  },
  {
    name: 'delegation',
    holds: item => item.side === 'sent',
    says: 'your first task: sealed, sent by itself; its state is proven, never guessed',
  },
  {
    name: 'receipt',
    holds: item => item.receipt?.verified === true,
    says: 'your first receipt: signed by both sides; anybody can check offline that the provider signed',
  },
]
type Item = View['interactions'] extends ReadonlyMap<string, infer T> ? T : never

/** The first lesson that is due and was not given yet. */
export function dueLesson(view: View, given: readonly string[]): Lesson | undefined {
  const open = LESSONS.filter(({ name }) => !given.includes(name))
  if (open.length === 0) return undefined
  for (const item of view.interactions.values()) {
    const due = open.find(({ holds }) => holds(item))
    if (due !== undefined) return { name: due.name, says: due.says }
  }
  return undefined
}
