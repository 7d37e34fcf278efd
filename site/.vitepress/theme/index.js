/** The default theme, with space for code of 100 columns. */
import DefaultTheme from 'vitepress/theme';
import './style.css';

export default DefaultTheme;
