/** What is explained once, in one line: the first stranger, the first delegation, the first receipt. */
import type { View } from './state.ts'

export type Lesson = { name: string; says: string }

const LESSONS: readonly (Lesson & { holds: (item: Item) => boolean })[] = [
  {
    name: 'stranger',
    holds: item => item.side === 'received' && item.state === 'pending',
    says: 'a stranger asks: nobody you named. Nothing runs and nobody answers until you say yes; declining tells them so.',
  },
  {
    name: 'delegation',
    holds: item => item.side === 'sent',
    says: 'your first task: it is sealed, goes out by itself, and its state here is what was proven, never a guess.',
  },
  {
    name: 'receipt',
    holds: item => item.receipt?.verified === true,
    says: 'your first receipt: both sides signed what was asked and answered; anybody can check it, also without this node.',
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
