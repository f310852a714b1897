/** From the start of the built program to its first answer. */

import { runAlone } from './lib/help.ts'
import { atMost, median, type Row, startHubProcess } from './lib/hub-load.ts'

const ROUNDS = 5

export async function run(): Promise<Row[]> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    const hub = await startHubProcess({ built: true })
    const response = await fetch(`${hub.url}/healthz`)
    await response.arrayBuffer()
    times.push((performance.now() - start) / 1000)
    await hub.stop()
  }
  return [atMost('start to the first answer, new data directory', median(times), 's', 0.5)]
}

if (import.meta.main) await runAlone(import.meta.filename, run)
