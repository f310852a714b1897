/** Reading tools over MCP with the daemon running: as it is, and with 100,000 stored interactions. */
import { startToolClient } from '../cli/demo/tool-client.ts'
import { definitionOf } from '../mcp/definitions.ts'
import { tools } from '../mcp/tools/all.ts'
import { atMost, type Row } from './lib/hub-load.ts'
import { benchWorld, percentile } from './lib/node-world.ts'
import { fillStore } from './lib/stored-tasks.ts'

const CALLS = 300
const STORED = 100_000
const DEFINITIONS_CHARACTERS_MAX = 9_500
const RECEIVED_CHARACTERS_MAX = 6_500

export async function run(): Promise<Row[]> {
  await using world = benchWorld()
  const up = await world.startNode('alice')
  const few = await callTimes(world)
  await world.svc('alice', 'stop')
  fillStore(world.dir('alice'), String(up['aid']), STORED)
  await world.startNode('alice')
  const many = await callTimes(world)
  const definitions = tools.map(definitionOf)
  const received = definitions.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }))
  return [
    atMost(
      'what a model receives of the nine tools',
      JSON.stringify(received).length,
      'characters',
      RECEIVED_CHARACTERS_MAX,
    ),
    atMost(
      'nine tool definitions',
      JSON.stringify(definitions).length,
      'characters',
      DEFINITIONS_CHARACTERS_MAX,
    ),
    atMost('task_inbox over MCP, p50', percentile(few, 0.5), 'ms', 10),
    atMost(`task_inbox with ${STORED} stored interactions, p95`, percentile(many, 0.95), 'ms', 50),
  ]
}

async function callTimes(world: Awaited<ReturnType<typeof benchWorld>>): Promise<number[]> {
  await using client = await startToolClient(world.node, [world.programs.svc, 'mcp'], world.env('alice'))
  const times: number[] = []
  for (let i = 0; i < CALLS; i++) {
    const started = performance.now()
    await client.callTool('task_inbox', { unfinished: i % 2 === 0 })
    times.push(performance.now() - started)
  }
  return times.slice(CALLS / 10)
}
