/** What an agent spends on ten stories with wrong turns and on the plain one, beside the figures of the repository. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type Cost, play, storyNames } from '../test/agents/stories.ts'
import { atMost, type Row } from './lib/hub-load.ts'

/** `--record` writes what is measured; a figure that rises needs a reason. */
const FIGURES = new URL('./agents.json', import.meta.url)
/** Content ids and numbers differ by a few characters from run to run. */
const CHARACTERS_LEEWAY = 1.02

export async function run(): Promise<Row[]> {
  const figures = JSON.parse(readFileSync(FIGURES, 'utf8')) as Record<string, Cost>
  const measured: Record<string, Cost> = {}
  for (const name of storyNames) measured[name] = await play(name)
  if (process.argv.includes('--record')) writeFileSync(FIGURES, `${JSON.stringify(measured, null, 2)}\n`)
  return Object.entries(measured).flatMap(([name, { calls, characters }]) => {
    const figure = figures[name] ?? { calls: 0, characters: 0 }
    return [
      atMost(`${name}: calls`, calls, 'calls', figure.calls),
      atMost(
        `${name}: what was received`,
        characters,
        'characters',
        Math.floor(figure.characters * CHARACTERS_LEEWAY),
      ),
    ]
  })
}
