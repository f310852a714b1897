/** Lists that are only looked at: reviews, cards of the task board, visitors, and what was ordered here. */
import { h } from '../page/h.ts'
import type { Api } from './api.ts'
import { List } from './list.ts'
import { aidOf, type Desk, number, type Screen, tag, time } from './parts.ts'

type Room = { api: Api; desk: Desk }

export const reviewsScreen = (room: Room): Screen =>
  new List(room, 'adminReviews', {
    title: 'Reviews',
    says: 'Who rated whom, in the order in which it came. The documents stay where they are.',
    empty: 'Nobody has reviewed an agent here yet.',
    keyOf: ({ seq }) => String(seq),
    row: ({ provider, reviewer, rating, interaction_id: task }) => [
      h(
        'div',
        { class: 'what' },
        h('span', {}, aidOf(reviewer), ' rated ', h('a', { href: `#agents/${provider}` }, aidOf(provider))),
        h('div', { class: 'soft' }, 'task ', h('code', {}, task)),
      ),
      h('div', { class: 'figures' }, h('strong', {}, `${rating} of 5`)),
    ],
  })

export const tasksScreen = (room: Room): Screen =>
  new List(room, 'adminTasks', {
    title: 'Tasks',
    says: 'Cards of the task board, in the order in which they were made.',
    empty: 'No card is on the board.',
    keyOf: ({ id }) => id,
    row: card => [
      h(
        'div',
        { class: 'what' },
        h('span', { class: 'name' }, h('bdi', {}, card.title || 'without a title')),
        tag(
          card.column.replaceAll('_', ' '),
          card.column === 'done' ? 'good' : card.column === 'blocked' ? 'bad' : '',
        ),
        tag(card.state),
        h(
          'div',
          { class: 'soft' },
          'made by ',
          aidOf(card.creator_aid),
          card.assignee_aid !== undefined && [', taken by ', aidOf(card.assignee_aid)],
        ),
      ),
      h(
        'div',
        { class: 'figures' },
        h('span', { class: 'soft' }, time(new Date(card.updated_at).toISOString())),
      ),
    ],
  })

export const visitorsScreen = (room: Room): Screen =>
  new List(room, 'adminSessions', {
    title: 'Visitors',
    says: 'Sessions of people without keys. Neither their secrets nor their words are shown.',
    empty: 'Nobody is visiting.',
    keyOf: ({ id }) => id,
    row: session => [
      h(
        'div',
        { class: 'what' },
        h('code', {}, session.id),
        tag(session.state.replaceAll('_', ' '), session.state === 'open' ? 'good' : ''),
        h(
          'div',
          { class: 'soft' },
          'talks to ',
          h('a', { href: `#agents/${session.handler}` }, aidOf(session.handler)),
        ),
      ),
      h(
        'div',
        { class: 'figures' },
        h('span', {}, `${session.sent} sent, ${session.remaining} left`),
        h('span', { class: 'soft' }, `${number(session.unread)} unread, `, time(session.seen_at)),
      ),
    ],
  })

export const auditScreen = (room: Room): Screen =>
  new List(room, 'adminAudit', {
    title: 'Audit',
    says: 'What was ordered through this page, the newest first.',
    empty: 'Nothing was ordered yet.',
    keyOf: ({ n }) => String(n),
    row: act => [
      h(
        'div',
        { class: 'what' },
        h('strong', { class: 'name' }, act.action),
        act.subject !== '' && h('a', { href: `#agents/${act.subject}` }, aidOf(act.subject)),
        h('div', { class: 'soft' }, h('bdi', {}, act.detail)),
      ),
      h(
        'div',
        { class: 'figures' },
        h('span', {}, time(act.at)),
        h('span', { class: 'soft' }, `from ${act.who}`),
      ),
    ],
  })
