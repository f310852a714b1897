/** What a hub says about itself to people and agents, as its operator wrote it. */

export type About = {
  name?: string | undefined
  /** Where its operator is reached: an e-mail address or a URL. */
  contact?: string | undefined
  /** URL of its terms of use. */
  terms?: string | undefined
  /** Where abuse is reported: an e-mail address or a URL. */
  abuse?: string | undefined
  /** URL where people get svc. */
  source?: string | undefined
}
