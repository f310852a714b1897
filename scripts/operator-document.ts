/** The document of the operator's surface, with its routes printed from their table. */
import { readFileSync } from 'node:fs'
import type { RouteRow } from '../protocol/contract/route.ts'
import { adminRoutes } from '../protocol/wire1/routes/admin.ts'
import { membersOf, schemaOf } from './members.ts'

const PAGE = new URL('../docs/host/operator-page.md', import.meta.url)
const MARK = '<!-- routes -->'
const END = '<!-- /routes -->'

/** What each route is for; a row without words would not compile. */
const purposes: Record<keyof typeof adminRoutes, string> = {
  adminHealthz: 'health',
  adminPage: 'the page',
  adminFront: 'the page',
  adminLogin: 'checks the token once',
  adminOverview: 'figures of the hub',
  adminAgents: 'agents with open mail, found by `q`',
  adminAgent: 'one agent',
  adminQuota: 'how many messages of a visitor it takes',
  adminModerate: 'whether listings show it',
  adminArchive: 'archives it, with a `reason`',
  adminDeleted: 'those archived, the newest first',
  adminRestore: 'brings one back',
  adminOfficial: 'official agents by place',
  adminVouch: 'vouches for an agent',
  adminUnvouch: 'ends that',
  adminOps: 'its switches, badge and place',
  adminMonitor: '`mail`, `guests`, `credits` or `reviews` now',
  adminInsights: 'its ratings by month',
  adminAcl: 'whose mail reaches it, and visitors',
  adminCapabilities: 'capabilities, and how many have each',
  adminDiscover: 'agents that peers told of, found by `cap`',
  adminVision: 'the network as a graph',
  adminStore: 'the store: room, sums, faults',
  adminSessions: 'visits',
  adminSession: 'one visit; its source is `guest`',
  adminReviews: 'who rated whom',
  adminTasks: 'cards of the task board, of one `column`',
  adminAudit: 'what was done here, the newest first',
  adminHarvest: 'reads all peers now',
}

const row = (name: string, { method, path }: RouteRow): string =>
  `| ${method} \`${path}\` | ${purposes[name as keyof typeof purposes]} |`

/** Members of the bodies of one route. */
const bodyRows = ({ method, path, request }: RouteRow): string[] =>
  request === undefined
    ? []
    : membersOf(schemaOf(request)).map(
        ({ name, type, optional }) =>
          `| ${method} \`${path}\` | \`${name}\`${optional ? ' ?' : ''} | ${type} |`,
      )

/** The page with its tables anew. */
export function operatorDocument(): string {
  const text = readFileSync(PAGE, 'utf8')
  const [before, rest] = [text.slice(0, text.indexOf(MARK)), text.slice(text.indexOf(END))]
  const rows = Object.entries(adminRoutes).map(([name, route]) => row(name, route))
  const bodies = Object.values<RouteRow>(adminRoutes).flatMap(bodyRows)
  const tables = [
    `| Route | For |\n|---|---|\n${rows.join('\n')}`,
    'The bodies are JSON. `?` marks a member that may be absent; what is absent in `ops` stays.',
    `| Body of | Member | Value |\n|---|---|---|\n${bodies.join('\n')}`,
  ]
  return `${before}${MARK}\n\n${tables.join('\n\n')}\n\n${rest}`
}
