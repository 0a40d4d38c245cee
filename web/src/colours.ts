// One colour for each class: told apart by hue and by lightness, readable on light and dark.

const PALETTE = [
  '#3b6fd4', '#e0822f', '#2f9e62', '#d1477a', '#8a63d2', '#12a0a8', '#b8860b', '#c0473b', '#5f7f1f',
  '#7a5c48', '#a23bb0', '#4a6a86',
];

export const UNLABELLED = '#8d95a3';

export const colour = (place: number): string => PALETTE[place % PALETTE.length] ?? UNLABELLED;
