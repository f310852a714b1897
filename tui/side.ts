/** The page of the node, and what stands beside the lists of agents and of records. */
import { age, clock, day, sayHour } from '../view/ages.ts'
import { attention } from '../view/attention.ts'
import { cleanLine, cleanText } from '../view/clean.ts'
import { screenFace, stillHere } from '../view/faces.ts'
import { evidenceRows, headRows } from '../view/rows.ts'
import { peerName, sayCredits } from '../view/sentences.ts'
import type { Agent, View } from '../view/state.ts'
import { cell, fitted, type Line, wrapped } from './cells.ts'
import { paneOf, type Scene } from './scene.ts'

const sayCount = (n: number, what: string): string => (n === 1 ? `1 ${what}` : `${n} ${what}s`)
const heading = (text: string): Line => [{ text: ` ${text}`, bold: true }]

function pairs(rows: readonly (readonly [string, string])[], width: number): Line[] {
  return rows.flatMap(([name, value]) =>
    wrapped(value === '' ? '–' : value, Math.max(10, width - 18)).map(
      (text, i): Line => [{ text: `  ${cell(i === 0 ? name : '', 14)} `, tone: 'quiet' }, { text }],
    ),
  )
}

const filled = (lines: Line[], width: number, height: number): Line[] => [
  ...lines.slice(0, height).map(line => fitted(line, width)),
  ...Array.from({ length: Math.max(0, height - lines.length) }, (): Line => [{ text: ' '.repeat(width) }]),
]

/** The agent that is selected, in all that it says of itself. */
export function agentPage({ model, view, now }: Scene, width: number, height: number): Line[] {
  const agent = view.agents.found.find(({ aid }) => aid === paneOf(model).selected)
  if (agent === undefined) return filled([], width, height)
  const lines = [
    heading(cleanLine(agent.name, 64) || 'without a name'),
    [
      {
        text:
          agent.contact === null
            ? ' no contact: the name is its own claim; c gives it yours'
            : ` your contact ${cleanLine(agent.contact, 64)}`,
        tone: agent.contact === null ? 'warn' : 'good',
      },
    ] as Line,
    [],
    ...pairs(
      [
        ['address', cleanLine(agent.aid)],
        ['home hub', cleanLine(agent.home ?? agent.hub, 120)],
        ['capabilities', agent.caps.map(cap => cleanLine(cap, 64)).join(', ')],
        ['says of itself', cleanText(agent.summary)],
        ...seenOf(agent, now),
      ],
      width,
    ),
  ]
  return filled(lines, width, height)
}

/** No hub is asked more of an agent that was found by its AID. */
function seenOf({ registered_at, last_seen, quiet }: Agent, now: number): [string, string][] {
  if (registered_at === null) return []
  const seen = last_seen === null ? 'never' : `${sayHour(last_seen, now)}${quiet ? ', quiet since' : ''}`
  return [
    ['registered', day(registered_at, now)],
    ['last seen', seen],
  ]
}

/** Both heads: how far our chain goes, and how far each correspondent has signed that it saw it; then the record. */
export function evidencePage({ model, view, now }: Scene, width: number, height: number): Line[] {
  const { head, records } = view.evidence
  const held = headRows(view)
  const row = evidenceRows(view, now).find(({ id }) => id === paneOf(model).selected)
  const record = records.find(({ id }) => id === row?.id)
  const lines: Line[] = [
    heading('our head'),
    ...pairs(
      head === undefined
        ? []
        : [
            ['length', `${sayCount(head.length, 'record')}, ${head.state}`],
            ['head', cleanLine(head.head_id)],
          ],
      width,
    ),
    [],
    heading('heads of others, signed by them and held here'),
    ...(held.length === 0 ? [[{ text: '  none yet; each receipt brings one', tone: 'quiet' }] as Line] : []),
    ...pairs(
      held.map(one => [one.peer, `${sayCount(one.length, 'record')} …${one.headId.slice(-8)}`]),
      width,
    ),
  ]
  if (record !== undefined && row !== undefined)
    lines.push(
      [],
      heading(`record ${record.seq}`),
      ...pairs(
        [
          ['what', row.says],
          ['type', row.type],
          ['when', clock(record.timestamp, now)],
          ['id', row.recordId],
          ['before it', cleanLine(record.prev_id)],
          [
            'link',
            {
              holds: 'holds: that is the record below',
              broken: 'BROKEN: the record below has another id',
              first: 'the first record',
              unseen: 'the record below is not loaded',
            }[row.link],
          ],
          ['task', row.interactionId ?? ''],
        ],
        width,
      ),
    )
  return filled(lines, width, height)
}

/** The node: what needs somebody, then identity, hub, auto-reply, contacts, capabilities. */
export function nodePage({ model, view, now }: Scene, width: number, height: number): Line[] {
  const lines = [
    ...needing(view, width, now),
    ...identity(view, width, now),
    ...autoReply(view, width, now),
    ...others(view, width),
  ]
  const top = Math.min(model.nodeTop, Math.max(0, lines.length - height))
  return filled(lines.slice(top), width, height)
}

/** What is wrong, what waits, and what one day will be missed. */
function needing(view: View, width: number, now: number): Line[] {
  const faces = view.status === undefined ? [] : attention(view, now)
  if (faces.length === 0) return []
  const lines = faces.flatMap(({ says, tone }) =>
    wrapped(says, width - 5).map(
      (text, i): Line => [
        { text: i === 0 ? (tone === 'bad' ? '  ✗ ' : '  ! ') : '    ', tone, bold: true },
        { text, tone },
      ],
    ),
  )
  return [heading('needs you'), ...lines, []]
}

function identity(view: View, width: number, now: number): Line[] {
  const { status } = view
  if (status === undefined) return [[{ text: ` ${screenFace(view, 'node', 0)?.says ?? ''}`, tone: 'quiet' }]]
  const { hub, chain, counts } = status
  const contact =
    hub?.last_contact_at == null
      ? ''
      : `, heard ${age(hub.last_contact_at, now)}${now - hub.last_contact_at < 5000 ? '' : ' ago'}`
  return [
    heading('this node'),
    ...pairs(
      [
        ['name', cleanLine(status.name, 64)],
        ['address', status.aid],
        [
          'hub',
          status.hub_url === null
            ? 'none yet; :hub-register <url> --name <name>'
            : `${cleanLine(status.hub_url)}  ${hub?.state ?? ''}${contact}`,
        ],
        ['wire', hub === null ? '' : `${hub.wire ?? '?'}, ${hub.sealed ? 'sealed' : 'NOT sealed'}`],
        [
          'takes tasks',
          status.accept_delegations
            ? `yes; a stranger may send ${status.guest_messages} before you say yes`
            : 'no',
        ],
        ['says of itself', cleanText(status.summary)],
        ['capabilities', status.caps.map(cap => cleanLine(cap, 64)).join(', ')],
        ['evidence', `${sayCount(chain.length, 'record')}, ${chain.state}`],
        ['going out', String(stillHere(counts))],
        [
          'refused',
          `${counts.strangers_refused} tasks of strangers, ${counts.foreign} messages of nobody's task`,
        ],
        ['files', cleanLine(status.data_dir)],
        [
          'version',
          `${cleanLine(status.version)}, commit ${cleanLine(status.commit ?? 'unknown').slice(0, 12)}, key event ${status.kel_seq}, pid ${status.pid}`,
        ],
      ],
      width,
    ),
    [],
  ]
}

function autoReply(view: View, width: number, now: number): Line[] {
  const { autoReply } = view
  const says = autoReply?.enabled === true ? cleanText(autoReply.says ?? 'on') : 'off: nobody answers but you'
  const runs = view.autoReplyRuns?.runs ?? []
  const failed = runs.filter(run => run.event === 'failed').length
  const last = runs.slice(0, 5).map(run => {
    const item = view.interactions.get(run.interaction_id)
    const peer = item === undefined ? 'a task' : peerName(item)
    const cost = run.cost === undefined ? '' : `, ${cleanLine(run.cost, 40)}`
    const took = `${run.event} in ${(run.ms / 1000).toFixed(1)} s${cost}`
    return [age(run.at, now), `${peer}  ${took}  ${cleanLine(item?.preview ?? '', 60)}`] as const
  })
  return [
    heading('auto-reply'),
    ...pairs([['who answers', says]], width),
    ...(last.length === 0
      ? []
      : pairs([['the last of them', `${runs.length - failed} answered, ${failed} failed`], ...last], width)),
    [],
  ]
}

function others({ contacts, capabilities, spend, balance }: View, width: number): Line[] {
  const people = (contacts ?? []).map(
    one =>
      [
        one.petname === null ? '' : cleanLine(one.petname, 40),
        `${one.aid}${one.blocked ? '  blocked' : ''}`,
      ] as const,
  )
  const served = (capabilities?.capabilities ?? []).map(
    one =>
      [
        cleanLine(one.capability, 40),
        `${cleanLine(one.summary, 120)}${one.price === undefined ? '' : `  ${sayCredits(one.price)}`}`,
      ] as const,
  )
  const money = [
    ...(balance === undefined
      ? []
      : [['balance', `${sayCredits(balance.balance)}, ${balance.held} held`] as const]),
    ...(spend === undefined
      ? []
      : [
          [
            'without asking',
            spend.day_max === 0 ? 'nothing' : `${spend.spent_today} of ${spend.day_max} today`,
          ] as const,
        ]),
  ]
  return [
    ...(money.length === 0 ? [] : [heading('credits'), ...pairs(money, width), []]),
    heading('contacts'),
    ...(people.length === 0
      ? [[{ text: '  none yet; 3 finds agents, c adds one', tone: 'quiet' }] as Line]
      : pairs(people, width)),
    [],
    ...(served.length === 0 ? [] : [heading('capabilities served here'), ...pairs(served, width)]),
  ]
}
