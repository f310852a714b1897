/** Saves the files of a task, and what the other side wrote at length. */
import type { Around } from './effects.ts'
import type { Effect } from './model.ts'
import { toast } from './scene.ts'

/** Longer words of others are saved as files, too. */
const LONG_CHARACTERS = 6_000

export async function save(around: Around, { id, folder }: Extract<Effect, { type: 'save' }>): Promise<void> {
  const out = around.host.folder(folder)
  const { files } = await around.live.ask('pull', { interaction_id: id, out })
  const n = files.filter(file => file.path !== null).length
  const texts = await longTexts(around, id)
  const also = texts.length === 0 ? '' : `; the long text in ${texts.join(', ')}`
  around.change(model => toast(model, `${n === 1 ? '1 file' : `${n} files`} in ${folder}${also}`, 'good'))
}

/** Files of long texts of the other side, which the node keeps. */
async function longTexts({ host, live }: Around, id: string): Promise<string[]> {
  const turns = live.view.threads.get(id)?.thread?.turns ?? []
  const paths: string[] = []
  for (const { n, mine, chars = 0, text } of turns) {
    if (mine || Math.max(chars, text.length) <= LONG_CHARACTERS) continue
    const input = { interaction_id: id, from_turn: n, max_chars: 1, text_files: true, mark_read: false }
    const path = (await host.node.call('thread', input)).turns[0]?.text_file?.path
    if (path !== undefined) paths.push(path)
  }
  return paths
}
